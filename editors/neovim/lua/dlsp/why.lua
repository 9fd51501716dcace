-- `:Dlsp why`: why nothing is suggested, in a sentence.
local client = require("dlsp.client")
local menu = require("dlsp.menu")
local status = require("dlsp.status")
local switch = require("dlsp.switch")

local M = {}

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
  local last = client.answer
  if last and type(last.message) == "string" then
    return ("dlsp: nothing the last time, since %s."):format(last.message)
  end
  return last and "dlsp had a suggestion the last time." or "dlsp was not asked yet: type something."
end

return M
