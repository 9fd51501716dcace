-- One item of the server's answer, as text to insert at the cursor.
local compat = require("dlsp.compat")

local M = {}

---@class dlsp.Item
---@field text string from the cursor on, lines parted by "\n"
---@field tail integer bytes after the cursor that it takes the place of
---@field head integer bytes of the answer's own text that stood before the cursor already
---@field raw table the server's item
---@field shown boolean whether the server was told that it was shown

---The item, nil where it is no insertion at the cursor.
---@param raw table
---@param line string the cursor's line
---@param row integer
---@param col integer in bytes
---@param encoding string
---@return dlsp.Item?
function M.read(raw, line, row, col, encoding)
  local text = type(raw.insertText) == "table" and raw.insertText.value or raw.insertText
  text = text:gsub("\r\n?", "\n")
  local head, tail = 0, 0
  if type(raw.range) == "table" then
    local from, to = raw.range.start, raw.range["end"]
    if from.line ~= row or to.line ~= row then
      return nil
    end
    local start = compat.byte(line, from.character, encoding)
    head, tail = col - start, compat.byte(line, to.character, encoding) - col
    if head < 0 or tail < 0 or text:sub(1, head) ~= line:sub(start + 1, col) then
      return nil
    end
  end
  text = text:sub(head + 1)
  if text == "" then
    return nil
  end
  return { text = text, tail = tail, head = head, raw = raw, shown = false }
end

return M
