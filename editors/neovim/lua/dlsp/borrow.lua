-- Normal mode keys of a buffer for as long as something is shown there; afterwards they are what they were.
local M = {}

local before = {} ---@type table<integer, table<string, table|false>> by buffer and key; false: it had no mapping

---@param buf integer
---@param keys table<string, fun()>
---@param desc string
function M.take(buf, keys, desc)
  M.give_back(buf)
  before[buf] = {}
  vim.api.nvim_buf_call(buf, function()
    for lhs, call in pairs(keys) do
      local there = vim.fn.maparg(lhs, "n", false, true)
      before[buf][lhs] = there.buffer == 1 and there or false
      vim.keymap.set("n", lhs, call, { buffer = buf, desc = desc, nowait = true })
    end
  end)
end

---@param buf integer
function M.give_back(buf)
  local given = before[buf]
  before[buf] = nil
  if not (given and vim.api.nvim_buf_is_valid(buf)) then
    return
  end
  vim.api.nvim_buf_call(buf, function()
    for lhs, mapping in pairs(given) do
      pcall(vim.keymap.del, "n", lhs, { buffer = buf })
      if mapping then
        vim.fn.mapset("n", false, mapping)
      end
    end
  end)
end

return M
