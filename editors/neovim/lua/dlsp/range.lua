-- LSP ranges in a buffer.
local compat = require("dlsp.compat")

local M = {}

---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return integer, integer, integer, integer rows from 0 and columns in bytes
function M.bytes(buf, range, encoding)
  local function column(position)
    local line = vim.api.nvim_buf_get_lines(buf, position.line, position.line + 1, false)[1] or ""
    return compat.byte(line, position.character, encoding)
  end
  return range.start.line, column(range.start), range["end"].line, column(range["end"])
end

---The text of a range, lines separated by "\n"; nil if the buffer has no such range.
---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return string?
function M.text(buf, range, encoding)
  local row, col, end_row, end_col = M.bytes(buf, range, encoding)
  local ok, lines = pcall(vim.api.nvim_buf_get_text, buf, row, col, end_row, end_col, {})
  return ok and table.concat(lines, "\n") or nil
end

return M
