-- `:Dlsp`.
local client = require("dlsp.client")

local M = {}

---@param lines string[]
---@param filetype string
local function scratch(lines, filetype)
  vim.cmd.new()
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].filetype = false, filetype
end

local function say(sentence)
  vim.notify(sentence, vim.log.levels.INFO)
end

---@type table<string, fun(argument: string?, lines: integer[]?)> the rest of the command, and its range
local COMMANDS = {
  status = function()
    local status = require("dlsp.status")
    local goes = status.destination ~= "" and "; text goes to " .. status.destination or ""
    local nothing = client.is_file(0) and "" or "; this buffer is no file"
    say(status.sentence() .. goes .. nothing)
  end,
  toggle = function()
    local on = require("dlsp.switch").toggle()
    require("dlsp").dismiss()
    say(on and "dlsp is on." or "dlsp is off; `:Dlsp toggle` switches it on again.")
  end,
  snooze = function(argument)
    local minutes = tonumber(argument or 10)
    if not minutes or minutes < 0 then
      return say("dlsp: give the minutes as a number, for example `:Dlsp snooze 30`; 0 ends it.")
    end
    require("dlsp.switch").snooze(minutes)
    if minutes == 0 then
      return say("dlsp is snoozed no longer.")
    end
    require("dlsp").dismiss()
    say(("dlsp is off for %g minute%s."):format(minutes, minutes == 1 and "" or "s"))
  end,
  log = function()
    local notes = #client.notes > 0 and client.notes or { "Nothing was logged yet." }
    scratch(notes, "log")
    vim.cmd.normal({ "G", bang = true })
  end,
  restart = function()
    client.restart()
    say("dlsp's server is started again.")
  end,
  fill = function(_, lines)
    if not lines then
      return require("dlsp").fill()
    end
    local from, to = { line = lines[1] - 1, character = 0 }, { line = lines[2], character = 0 }
    require("dlsp.fill").start({ start = from, ["end"] = to })
  end,
  instruct = function(instruction, lines)
    require("dlsp").instruct(instruction, unpack(lines or {}))
  end,
  why = function()
    say(require("dlsp.why").sentence())
  end,
  context = function()
    require("dlsp.context").show(scratch)
  end,
}

---@param command {fargs: string[], args: string, range: integer, line1: integer, line2: integer}
function M.run(command)
  local name = command.fargs[1] or "status"
  local run = COMMANDS[name]
  if not run then
    return say("dlsp: there are " .. table.concat(M.complete("", ""), ", ") .. ".")
  end
  local rest = command.args:match("^%s*%S+%s+(.*)$")
  run(rest, command.range > 0 and { command.line1, command.line2 } or nil)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  if line:find("^%s*Dlsp%s+%S+%s") then
    return {}
  end
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(COMMANDS))
  table.sort(names)
  return names
end

return M
