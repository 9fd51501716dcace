-- Carrying an edit on to other places. The server does not propose any yet; the key is there already.
local M = {}

---Go to the next place.
function M.next()
  vim.notify("dlsp: no place to carry an edit on to.", vim.log.levels.INFO)
end

return M
