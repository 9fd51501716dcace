-- The first word, or the first line, of a text: what is accepted in part.
local M = {}

local FIRST = {
  word = [=[\v^\_s*%(\k+|[^[:keyword:][:space:]]+)]=],
  line = [=[\v^\n*[^\n]*]=],
}

---@param text string
---@param part "all"|"word"|"line"
---@return string not empty unless `text` is
function M.first(text, part)
  if part == "all" then
    return text
  end
  local found = vim.fn.matchstr(text, FIRST[part])
  return found ~= "" and found or text
end

return M
