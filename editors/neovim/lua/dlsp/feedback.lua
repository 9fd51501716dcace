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

---The first `bytes` of the item's text stand in the buffer now, accepted in part.
---@param buf integer
---@param item dlsp.Item
---@param bytes integer
function M.partly(buf, item, bytes)
  local raw = item.raw.insertText
  local accepted = raw:sub(1, item.head) .. item.text:sub(1, bytes)
  if raw:find("\r\n", 1, true) then
    accepted = accepted:gsub("\n", "\r\n")
  end
  local params = { item = item.raw, acceptedLength = compat.utf16(accepted) }
  client.notify(buf, "textDocument/didPartiallyAcceptCompletion", params)
end

---All of it was accepted: what the item's command is for, where the server gave one.
---@param buf integer
---@param item dlsp.Item
function M.accepted(buf, item)
  local server, command = client.of(buf), item.raw.command
  if type(command) ~= "table" then
    return M.partly(buf, item, #item.text)
  end
  if server then
    local params = { command = command.command, arguments = command.arguments }
    compat.call(server, "request", "workspace/executeCommand", params, function() end, buf)
  end
end

---It was sent away.
---@param buf integer
---@param item dlsp.Item
function M.dismissed(buf, item)
  client.notify(buf, "textDocument/didDismissCompletion", { item = item.raw })
end

return M
