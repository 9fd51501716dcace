-- The user's settings: `vim.g.dlsp` over the defaults. There is nothing that must be called.
local compat = require("dlsp.compat")

local M = {}

---@class dlsp.Config
---@field cmd string[]? the server's command; nil: `dlsp` from $VIRTUAL_ENV or PATH
---@field settings table `initializationOptions`, as the server documents them
---@field debounce integer milliseconds without a keystroke before the server is asked
---@field filetypes table<string, boolean> false: no suggestions there
---@field keys table<string, string|false> keys by action; false: none
---@field edits "eager"|"subtle"|"off" how the places that should follow an edit are shown by themselves
---@field native boolean leave ghost text to Neovim's own client (0.12)

---@type dlsp.Config
local DEFAULTS = {
  cmd = nil,
  settings = {},
  debounce = 10,
  filetypes = {},
  keys = {
    -- insert mode, while a suggestion is shown
    accept = "<Tab>",
    ["accept-part"] = false,
    ["accept-word"] = "<M-Right>",
    ["accept-line"] = "<M-C-Right>",
    ["accept-block"] = false,
    next = "<M-]>",
    previous = "<M-[>",
    dismiss = "<C-]>",
    -- normal mode, while the places of an edit are shown
    ["next-edit"] = "<Tab>",
    ["accept-edits"] = "<S-Tab>",
    ["dismiss-edits"] = "<Esc>",
    -- normal mode, while a filled function or the answer to an instruction is shown
    ["accept-preview"] = "<Tab>",
    ["dismiss-preview"] = "<Esc>",
  },
  edits = "eager",
  native = false,
}

---Actions whose keys are mapped in insert mode at start.
M.INSERT = {
  "accept",
  "accept-part",
  "accept-word",
  "accept-line",
  "accept-block",
  "next",
  "previous",
  "dismiss",
}

---@param value any
---@return boolean, string?
local function is_command(value)
  return type(value) == "table" and #value > 0 and type(value[1]) == "string"
end

---@param value any
local function is_duration(value)
  return type(value) == "number" and value >= 0
end

---What `edits` was before it had three values.
local OLD_EDITS = { [true] = "eager", [false] = "off" }

---@param value any
local function is_mode(value)
  return OLD_EDITS[value] ~= nil or vim.tbl_contains({ "eager", "subtle", "off" }, value)
end

---@param kind string
local function map_of(kind)
  return function(value)
    if type(value) ~= "table" then
      return false
    end
    for name, each in pairs(value) do
      if type(name) ~= "string" or not (type(each) == kind or (kind == "string" and each == false)) then
        return false
      end
    end
    return true
  end
end

---What each setting must be, and how a sentence says so.
---@type table<string, {[1]: string|fun(value: any): boolean, [2]: string}>
local KINDS = {
  cmd = { is_command, 'a list like { "dlsp", "serve", "--stdio" }' },
  settings = { "table", "a table" },
  debounce = { is_duration, "a number of milliseconds" },
  filetypes = { map_of("boolean"), "a table like { markdown = false }" },
  keys = { map_of("string"), 'a table like { accept = "<Tab>", dismiss = false }' },
  edits = { is_mode, '"eager", "subtle" or "off"' },
  native = { "boolean", "true or false" },
}

local merged ---@type dlsp.Config?
local problems = {} ---@type string[]

---The settings that hold, where a wrong one is as if it were not set; and what is wrong, a sentence each.
---@param given any
---@return dlsp.Config, string[]
local function read(given)
  local wrong = {}
  if type(given) ~= "table" then
    return vim.deepcopy(DEFAULTS), { "vim.g.dlsp must be a table" }
  end
  local held = {}
  for name, value in pairs(given) do
    local kind = KINDS[name]
    if not kind then
      wrong[#wrong + 1] = ("vim.g.dlsp has no setting `%s`"):format(name)
    elseif not compat.validate(name, value, kind[1], kind[2]) then
      wrong[#wrong + 1] = ("vim.g.dlsp.%s must be %s"):format(name, kind[2])
    else
      held[name] = value
    end
  end
  if type(held.edits) == "boolean" then
    held.edits = OLD_EDITS[held.edits]
  end
  for action in pairs(held.keys or {}) do
    if DEFAULTS.keys[action] == nil then
      wrong[#wrong + 1] = ("vim.g.dlsp.keys has no action `%s`"):format(action)
      held.keys[action] = nil
    end
  end
  table.sort(wrong)
  return vim.tbl_deep_extend("force", DEFAULTS, held), wrong
end

---The settings, merged when they have changed.
---@return dlsp.Config
function M.get()
  if not merged then
    merged, problems = read(vim.g.dlsp == nil and {} or vim.g.dlsp)
  end
  return merged
end

---What is wrong with the settings, a sentence each.
---@return string[]
function M.problems()
  M.get()
  return problems
end

---The settings have changed.
function M.forget()
  merged = nil
end

vim.cmd([[call dictwatcheradd(g:, "dlsp", {-> v:lua.require'dlsp.config'.forget()})]])

---The server's command, nil if there is no such program on this machine.
---@return string[]?
function M.cmd()
  local chosen = M.get().cmd
  if chosen then
    return vim.fn.executable(chosen[1]) == 1 and chosen or nil
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
