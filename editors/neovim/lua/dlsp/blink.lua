-- A source of blink.cmp: the module of a provider, `{ name = "dlsp", module = "dlsp.blink", async = true }`.
local items = require("dlsp.items")

local M = {}
M.__index = M

function M.new()
  return setmetatable({}, M)
end

function M.enabled()
  return require("dlsp.client").of(0) ~= nil
end

function M.get_trigger_characters()
  return items.TRIGGERS
end

---@param context table what blink.cmp knows of the cursor
---@param callback fun(response: table)
---@return fun() cancel
function M.get_completions(_, context, callback)
  return items.ask(vim.tbl_get(context, "trigger", "kind") == "manual", function(found)
    callback({ items = found, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

---@param item lsp.CompletionItem
---@param callback fun()
---@param insert fun()
function M.execute(_, _, item, callback, insert)
  insert()
  items.accepted(item)
  callback()
end

return M
