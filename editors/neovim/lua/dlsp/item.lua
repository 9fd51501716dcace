-- One item of the server's answer, as text to insert at the cursor.
local compat = require("dlsp.compat")

local M = {}

---@class dlsp.Item
---@field text string from the cursor on, lines parted by "\n"
---@field raw table the server's item
---@field shown boolean whether the server was told that it was shown

---The item; nil if it does not insert at the cursor, since the text has changed meanwhile.
---@param raw table
---@param line string the cursor's line
---@param row integer
---@param col integer in bytes
---@param encoding string
---@return dlsp.Item?
function M.read(raw, line, row, col, encoding)
  for _, at in pairs(raw.range or {}) do
    if at.line ~= row or compat.byte(line, at.character, encoding) ~= col then
      return nil
    end
  end
  local text = raw.insertText:gsub("\r\n?", "\n")
  return text ~= "" and { text = text, raw = raw, shown = false } or nil
end

return M
