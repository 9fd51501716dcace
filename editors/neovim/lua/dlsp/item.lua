-- One item of the server's answer, as text to put at the cursor, in place of closing brackets and quotes behind it.
local compat = require("dlsp.compat")

local M = {}

---@class dlsp.Item
---@field text string from the cursor on, lines parted by "\n"
---@field after string the line behind what the text replaces
---@field raw table the server's item
---@field shown boolean whether the server was told that it was shown

---The item; nil if it does not begin at the cursor, since the text has changed meanwhile.
---@param raw table
---@param line string the cursor's line
---@param row integer
---@param col integer in bytes
---@param encoding string
---@return dlsp.Item?
function M.read(raw, line, row, col, encoding)
  local here = { line = row, character = compat.units(line, col, encoding) }
  local range = raw.range or { start = here, ["end"] = here }
  local from, to = range.start, range["end"]
  if from.line ~= row or to.line ~= row or compat.byte(line, from.character, encoding) ~= col then
    return nil
  end
  local text = raw.insertText:gsub("\r\n?", "\n")
  local after = line:sub(compat.byte(line, to.character, encoding) + 1)
  return text ~= "" and { text = text, after = after, raw = raw, shown = false } or nil
end

return M
