-- What became of a suggestion, told to the server under Copilot's names. The server keeps it on this machine.
local client = require("dlsp.client")
local compat = require("dlsp.compat")

local M = {}

---@param buf integer
---@param item dlsp.Item
function M.shown(buf, item)
  if not item.shown then
    item.shown = true
    client.notify(buf, "textDocument/didShowCompletion", { item = item.raw })
  end
end

---The first `bytes` bytes of the item's text were accepted.
---@param buf integer
---@param item dlsp.Item
---@param bytes integer
function M.accepted(buf, item, bytes)
  local accepted = item.text:sub(1, bytes)
  if item.raw.insertText:find("\r\n", 1, true) then
    accepted = accepted:gsub("\n", "\r\n")
  end
  local params = { item = item.raw, acceptedLength = compat.utf16(accepted) }
  client.notify(buf, "textDocument/didPartiallyAcceptCompletion", params)
end

---It was dismissed.
---@param buf integer
---@param item dlsp.Item
function M.dismissed(buf, item)
  client.notify(buf, "textDocument/didDismissCompletion", { item = item.raw })
end

return M
