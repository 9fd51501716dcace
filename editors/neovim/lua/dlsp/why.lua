-- `:Dlsp why`: why nothing is suggested, in a sentence.
local client = require("dlsp.client")
local menu = require("dlsp.menu")
local status = require("dlsp.status")
local switch = require("dlsp.switch")

local M = {}

local last = "" -- what the server's log said of its last answer

---A line of the server's log.
---@param line string
function M.note(line)
  if line:find("^quiet: ") or line:find("^a suggestion") then
    last = line:gsub(", %d+ ms$", "")
  end
end

---What the server says became of a request.
---@param answer {skip: string?, message: string?}
function M.told(answer)
  last = type(answer.message) == "string" and "quiet: " .. answer.message or "a suggestion"
end

---@return string
function M.sentence()
  if not client.is_file(0) then
    return "dlsp: nothing is suggested in this buffer, which is no file."
  end
  local off = switch.why_off(0)
  if off then
    return "dlsp is off: " .. off
  end
  if
    status.state == "stopped"
    or status.state == "starting"
    or status.state == "loading"
    or status.state == "error"
  then
    return status.sentence()
  end
  if not menu.one_cursor() then
    return "dlsp: nothing is suggested while a macro runs or several lines are typed at once."
  end
  local quiet = last:match("^quiet: (.*)")
  if quiet then
    return ("dlsp: nothing the last time, since %s."):format(quiet)
  end
  return last == "" and "dlsp was not asked yet: type something." or "dlsp had a suggestion the last time."
end

return M
