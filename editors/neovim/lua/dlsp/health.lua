-- `:checkhealth dlsp`.
local config = require("dlsp.config")

local M = {}

---@param command string[]
---@return string?, string output where it succeeded, and its first line
local function output(command)
  local ok, done = pcall(function()
    return vim.system(command, { text = true, timeout = 15000 }):wait()
  end)
  if not ok then
    return nil, tostring(done)
  end
  local said = vim.trim((done.stdout or "") .. (done.stderr or ""))
  return done.code == 0 and said or nil, said:match("[^\n]*")
end

function M.check()
  local health = vim.health
  health.start("dlsp")
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.10 or newer is needed")
  end

  for _, problem in ipairs(config.problems()) do
    health.error(problem, { ":help dlsp-settings" })
  end
  if not config.cmd() then
    return health.error(
      "`dlsp` is not installed",
      { 'pipx install "dlsp[local]"', "or say where it is in vim.g.dlsp.cmd" }
    )
  end
  local version, why = output(config.command("--version"))
  if not version then
    return health.error(("`%s` fails: %s"):format(table.concat(config.command("--version"), " "), why))
  end
  health.ok(version .. " (" .. vim.fn.exepath(config.command()[1]) .. ")")
  local model, missing = output(config.command("model", "path"))
  if model then
    health.ok("model: " .. model)
  else
    health.error(missing, { table.concat(config.command("model", "pull"), " ") })
  end
  local engine = output(config.command("engine", "status"))
  health.info(engine and "the engine runs" or "the engine is not running; it starts on demand")

  local clients = vim.lsp.get_clients({ name = "dlsp" })
  if #clients > 0 then
    health.ok(("%s server%s running"):format(#clients, #clients > 1 and "s" or ""))
  else
    health.info("no server is running; it starts when a file is opened")
  end
  health.info(require("dlsp.status").sentence())

  for _, action in ipairs(config.INSERT) do
    local lhs = config.get().keys[action]
    local mapping = lhs and require("dlsp.keys").mapping(lhs)
    local ours = mapping and ((mapping.desc or "") .. (mapping.rhs or "")):find("dlsp", 1, true)
    if lhs and not ours then
      local plug = "<Plug>(dlsp-" .. action .. ")"
      health.warn(("%s does not lead to dlsp: something mapped it later"):format(lhs), { "map a key to " .. plug })
    end
  end
  local native = vim.lsp.inline_completion
  if native and native.is_enabled({ bufnr = 0 }) and not config.get().native then
    health.warn("Neovim's own inline completion is on too, so suggestions may show twice", {
      "vim.lsp.inline_completion.enable(false), or vim.g.dlsp = { native = true }",
    })
  end
end

return M
