-- A source of nvim-cmp: `require("cmp").register_source("dlsp", require("dlsp.cmp").new())`.
local items = require("dlsp.items")

local M = {}
M.__index = M

function M.new()
  return setmetatable({}, M)
end

function M.is_available()
  return require("dlsp.client").of(0) ~= nil
end

function M.get_debug_name()
  return "dlsp"
end

function M.get_position_encoding_kind()
  return "utf-8"
end

function M.get_trigger_characters()
  return items.TRIGGERS
end

---@param params table what nvim-cmp knows of the cursor
---@param callback fun(response: lsp.CompletionList)
function M.complete(_, params, callback)
  items.ask(vim.tbl_get(params, "context", "option", "reason") == "manual", function(found)
    callback({ items = found, isIncomplete = true })
  end)
end

---@param item lsp.CompletionItem
---@param callback fun(item: lsp.CompletionItem)
function M.execute(_, item, callback)
  items.accepted(item)
  callback(item)
end

return M
