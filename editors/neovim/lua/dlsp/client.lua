-- The language server as Neovim's LSP client sees it: started for a buffer, started again when it dies.
local compat = require("dlsp.compat")
local config = require("dlsp.config")
local status = require("dlsp.status")

local M = {}

M.NAME = "dlsp"
---What is in the folder of a project.
M.ROOTS = { ".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml" }
local MOST_NOTES = 1000
local MOST_DEATHS, DEATHS_MS = 4, 3 * 60 * 1000

---What the server wrote to its log since Neovim started, newest last.
---@type string[]
M.notes = {}
---What became of the last request for a suggestion: `id` names the suggestion; where there is none, `message` is why.
---@type {id: string|userdata, message: string|userdata}?
M.answer = nil
---The version of each buffer that the server was told last.
---@type table<integer, integer>
M.versions = {}
---Called with the value of each partial result, by token.
---@type table<string, fun(value: any)>
M.partial = {}

local deaths = {} ---@type integer[]
local leaving = {} ---@type table<integer, boolean> clients that were told to stop
local begun = {} ---@type table<integer, boolean> clients that answered once
local told = {} ---@type table<string, boolean>

local REST = "… `:Dlsp why` has all."
local FREE_COLUMNS = 14 -- of the last line, which shows keys too

---Tell the user a sentence, once. In the middle of typing it must not ask for <Enter>, as one that is longer than the
---line of messages does.
---@param sentence string
---@param level integer?
function M.tell(sentence, level)
  if not told[sentence] then
    told[sentence] = true
    local room = vim.o.columns - FREE_COLUMNS
    if vim.fn.strchars(sentence) > room then
      sentence = vim.fn.strcharpart(sentence, 0, room - vim.fn.strchars(REST)) .. REST
    end
    vim.notify(sentence, level or vim.log.levels.WARN)
  end
end

local LEVELS = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO, vim.log.levels.DEBUG }

---@type table<string, lsp.Handler>
M.handlers = {
  ["window/logMessage"] = function(_, params)
    table.insert(M.notes, os.date("%H:%M:%S ") .. params.message)
    if #M.notes > MOST_NOTES then
      table.remove(M.notes, 1)
    end
    return vim.NIL
  end,
  ["window/showMessage"] = function(_, params)
    M.tell(params.message, LEVELS[params.type])
    if params.type <= 2 then
      status.set("error", (params.message:gsub("^dlsp: ", "")))
    end
    return vim.NIL
  end,
  ["$/progress"] = function(err, params, ctx, options)
    local partial = M.partial[params.token]
    if partial then
      partial(params.value)
      return
    end
    status.progress(params.value)
    return vim.lsp.handlers["$/progress"](err, params, ctx, options)
  end,
  ["dlsp/didAnswer"] = function(_, params)
    M.answer = params
    status.answered(params)
    return vim.NIL
  end,
  ["dlsp/askServers"] = function(_, question, ctx)
    return require("dlsp.servers").answer(question, ctx.client_id)
  end,
  didChangeStatus = function(_, params)
    status.server(params)
  end,
}

---Commands that the server names and that are better done here.
---@type table<string, fun(command: lsp.Command)>
M.commands = {
  ["dlsp.fill"] = function(command)
    local _, from, to = unpack(command.arguments or {})
    require("dlsp.fill").start(from and { start = from, ["end"] = to or from })
  end,
}

---The running client of a buffer, if that is edited as a file (a list of files gets its 'buftype' late).
---@param buf integer
---@return vim.lsp.Client?
function M.of(buf)
  for _, client in ipairs(M.is_file(buf) and vim.lsp.get_clients({ bufnr = buf, name = M.NAME }) or {}) do
    if client.initialized and not leaving[client.id] then
      return client
    end
  end
end

---Whether a buffer is one that is edited as a file.
---@param buf integer
---@return boolean
function M.is_file(buf)
  local bo = vim.bo[buf]
  return bo.buftype == "" and bo.modifiable and vim.api.nvim_buf_get_name(buf) ~= ""
end

---How the client is made, by this plugin and by `vim.lsp.enable("dlsp")` alike.
---@return table for `vim.lsp.start`, but for its root
function M.options()
  local cmd, settings = config.cmd(), config.get().settings
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  -- Neovim before 0.12 does not know it; without it the server would offer the same in the completion menu.
  capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }
  capabilities.experimental = { askServers = true }
  return {
    name = M.NAME,
    cmd = cmd and M.spawn(cmd) or { M.NAME, "serve", "--stdio" },
    capabilities = capabilities,
    init_options = settings,
    settings = { dlsp = settings },
    handlers = M.handlers,
    commands = M.commands,
    on_init = function(client)
      begun[client.id] = true
      require("dlsp.watch").start()
      if status.state == "stopped" or status.state == "starting" or status.state == "error" then
        status.set("ready")
      end
    end,
    on_exit = function(_, _, id)
      vim.schedule(function()
        M.ended(id)
      end)
    end,
  }
end

---Attach the server to a buffer, starting it if need be.
---@param buf integer
function M.start(buf)
  M.tell_problems()
  if not config.cmd() then
    -- Within 80 columns: longer ones ask for Enter.
    local missing = 'dlsp is not installed: `pipx install "dlsp[local]"`; see `:help dlsp-install`.'
    status.set("error", missing)
    return M.tell(missing)
  end
  local root = vim.fs.root(buf, M.ROOTS)
  local options = vim.tbl_extend("error", M.options(), { root_dir = root })
  local id = vim.lsp.start(options, { bufnr = buf, reuse_client = M.is_ours })
  local client = id and vim.lsp.get_client_by_id(id)
  if client and not client.initialized and status.state == "stopped" then
    status.set("starting")
  end
  if client and root then
    M.add_root(client, root)
    vim.schedule(M.forget_roots)
  end
end

---Tell once what is wrong with the settings.
function M.tell_problems()
  local problems = config.problems()
  if #problems == 1 and #problems[1] < 72 then
    M.tell("dlsp: " .. problems[1] .. ".")
  elseif #problems > 0 then
    M.tell(("dlsp: vim.g.dlsp has %d wrong values; see `:checkhealth dlsp`."):format(#problems))
  end
end

---How Neovim starts the server. That it ended is for `ended` to say: Neovim's own sentence is so long that it waits
---for <Enter>, in the middle of somebody's typing.
---@param cmd string[]|function a function is a client's `cmd` already
---@return function
function M.spawn(cmd)
  if type(cmd) == "function" then
    return cmd
  end
  return function(dispatchers)
    local on_exit = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      table.insert(M.notes, ("the server ended (exit status %d, signal %d)"):format(code, signal))
      on_exit(0, 0)
    end
    return vim.lsp.rpc.start(cmd, dispatchers)
  end
end

---One server is enough for all folders.
---@param client vim.lsp.Client
---@return boolean
function M.is_ours(client)
  return client.name == M.NAME and not leaving[client.id] and not client.rpc.is_closing()
end

---A folder's own name where links lead to it, or where the system makes no difference between `A` and `a`.
---@param path string
---@return string
function M.real(path)
  return vim.uv.fs_realpath(path) or vim.fs.normalize(path)
end

---Tell the server of a folder, unless it knows it.
---@param client vim.lsp.Client
---@param root string
function M.add_root(client, root)
  client.workspace_folders = client.workspace_folders or {}
  local real = M.real(root)
  for _, folder in ipairs(client.workspace_folders) do
    if M.real(vim.uri_to_fname(folder.uri)) == real then
      return
    end
  end
  local folder = { uri = vim.uri_from_fname(root), name = root }
  table.insert(client.workspace_folders, folder)
  local params = { event = { added = { folder }, removed = {} } }
  compat.call(client, "notify", "workspace/didChangeWorkspaceFolders", params)
end

---The server ended: start it again where it was, unless it was told to end or keeps dying.
---@param id integer
function M.ended(id)
  if leaving[id] or vim.v.exiting ~= vim.NIL then
    leaving[id] = nil
    return
  end
  status.set("stopped")
  local now = vim.uv.now()
  deaths = vim.tbl_filter(function(at)
    return now - at < DEATHS_MS
  end, deaths)
  table.insert(deaths, now)
  if #deaths > MOST_DEATHS or not begun[id] then
    local sentence = "dlsp's server does not run: see `:checkhealth dlsp`."
    status.set("error", sentence)
    return M.tell(sentence)
  end
  M.tell("dlsp's server ended; it is started again.", vim.log.levels.INFO)
  M.start_all()
end

---Attach the server to every loaded file.
function M.start_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and M.is_file(buf) then
      M.start(buf)
    end
  end
end

---End the servers and start anew, with the settings as they are now.
function M.restart()
  deaths, told = {}, {}
  status.set("stopped")
  local old = vim.lsp.get_clients({ name = M.NAME })
  for _, client in ipairs(old) do
    leaving[client.id] = true
  end
  M.start_all() -- first: after a change of a buffer without a client Neovim would tell the next one of none
  for _, client in ipairs(old) do
    compat.call(client, "stop", true)
  end
end

---Have the servers forget the folders that no open file lies in.
function M.forget_roots()
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME })) do
    local used = {}
    for buf in pairs(client.attached_buffers) do
      local root = vim.api.nvim_buf_is_loaded(buf) and vim.fs.root(buf, M.ROOTS)
      used[root and M.real(root) or ""] = true
    end
    local folders = client.workspace_folders or {}
    local function is_used(folder)
      return used[M.real(vim.uri_to_fname(folder.uri))]
    end
    local removed = vim.tbl_filter(function(folder)
      return not is_used(folder)
    end, folders)
    if #removed > 0 and next(used) then
      client.workspace_folders = vim.tbl_filter(is_used, folders)
      local params = { event = { added = {}, removed = removed } }
      compat.call(client, "notify", "workspace/didChangeWorkspaceFolders", params)
    end
  end
end

---Tell running servers the settings as they are now; nothing is started anew.
function M.configure()
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME })) do
    client.settings = { dlsp = config.get().settings }
    compat.call(client, "notify", "workspace/didChangeConfiguration", { settings = client.settings })
  end
end

---Neovim told a server something: note the version of the buffer that it was about.
---@param sent {client_id: integer, params: table?}
function M.notified(sent)
  local client = vim.lsp.get_client_by_id(sent.client_id)
  local document = sent.params and sent.params.textDocument
  if client and client.name == M.NAME and document and document.version then
    M.versions[vim.uri_to_bufnr(document.uri)] = document.version
  end
end

---Tell the server something, if it is there.
---@param buf integer
---@param method string
---@param params table
function M.notify(buf, method, params)
  local client = M.of(buf)
  if client then
    compat.call(client, "notify", method, params)
  end
end

return M
