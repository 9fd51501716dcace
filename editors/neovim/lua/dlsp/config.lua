-- The user's settings: `vim.g.dlsp` over the defaults. There is nothing that must be called.
local M = {}

---@class dlsp.Config
---@field cmd string[]? the server's command; nil: `dlsp` from $VIRTUAL_ENV or PATH
---@field settings table `initializationOptions`, as the server documents them
---@field debounce integer milliseconds without a keystroke before the server is asked
---@field filetypes table<string, boolean> false: no suggestions there
---@field keys table<string, string|false> insert mode keys by action; false: none
---@field edits boolean show the places that an edit should be carried on to
---@field native boolean leave ghost text to Neovim's own client (0.12)

---@type dlsp.Config
local DEFAULTS = {
  cmd = nil,
  settings = {},
  debounce = 10,
  filetypes = {},
  keys = {
    accept = "<Tab>",
    ["accept-word"] = "<M-Right>",
    ["accept-line"] = "<M-C-Right>",
    next = "<M-]>",
    previous = "<M-[>",
    dismiss = "<C-]>",
  },
  edits = true,
  native = false,
}

---@return dlsp.Config
function M.get()
  return vim.tbl_deep_extend("force", DEFAULTS, vim.g.dlsp or {})
end

---The server's command, nil if there is no such program on this machine.
---@return string[]?
function M.cmd()
  local chosen = M.get().cmd
  if chosen then
    return (type(chosen) ~= "table" or vim.fn.executable(chosen[1]) == 1) and chosen or nil
  end
  local env = vim.env.VIRTUAL_ENV
  for _, program in ipairs({ env and env .. "/bin/dlsp" or "", env and env .. "/Scripts/dlsp.exe" or "", "dlsp" }) do
    if program ~= "" and vim.fn.executable(program) == 1 then
      return { program, "serve", "--stdio" }
    end
  end
end

---Another command of dlsp, as the server is started: `uv run dlsp serve --stdio` becomes `uv run dlsp context …`.
---@param ... string
---@return string[]
function M.command(...)
  local cmd, words = M.cmd(), {}
  for _, word in ipairs(type(cmd) == "table" and cmd or { "dlsp" }) do
    if word == "serve" then
      break
    end
    words[#words + 1] = word
  end
  return vim.list_extend(words, { ... })
end

return M
