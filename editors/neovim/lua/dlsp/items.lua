-- Suggestions as items of a completion menu, for `dlsp.blink` and `dlsp.cmp`. Columns are bytes.
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local feedback = require("dlsp.feedback")
local item = require("dlsp.item")
local menu = require("dlsp.menu")
local switch = require("dlsp.switch")

local M = {}

local METHOD = "textDocument/inlineCompletion"
local AUTOMATIC, INVOKED = 2, 1
local PLAIN_TEXT, KIND_TEXT = 1, 1
local LONGEST = 60 -- characters of a label

---Characters after which to ask, besides those of words.
M.TRIGGERS = { ".", ",", "=", "(", "[", "{", " " }

---@param shown dlsp.Item
---@param row integer
---@param col integer
---@param here string the cursor's line
---@return lsp.CompletionItem
local function completion(shown, row, col, here)
  local before, last = here:sub(1, col), #here - #shown.after
  local word = vim.fn.matchstr(before, [[\k*$]])
  local lines = vim.split(word .. shown.text, "\n")
  local first = vim.iter(lines):find(function(line)
    return vim.trim(line) ~= ""
  end) or ""
  local label = vim.trim(first)
  if vim.fn.strchars(label) > LONGEST then
    label = vim.fn.strcharpart(label, 0, LONGEST - 1) .. "…"
  end
  local more = #lines > 1
  return {
    label = more and ("%s … +%d"):format(label, #lines - 1) or label,
    kind = KIND_TEXT,
    detail = "dlsp",
    documentation = more
        and { kind = "markdown", value = ("````%s\n%s\n````"):format(vim.bo.filetype, table.concat(lines, "\n")) }
      or nil,
    filterText = lines[1] ~= "" and lines[1] or first,
    insertTextFormat = PLAIN_TEXT,
    textEdit = {
      newText = word .. shown.text,
      range = { start = { line = row, character = col - #word }, ["end"] = { line = row, character = last } },
    },
    data = { dlsp = { text = shown.text, raw = shown.raw } },
  }
end

---Ask for items for the cursor's place.
---@param by_key boolean whether the user asked for the menu
---@param done fun(items: lsp.CompletionItem[]) called once
---@return fun() cancel
function M.ask(by_key, done)
  local server = client.of(0)
  if not (server and server.server_capabilities.inlineCompletionProvider and switch.on(0) and menu.one_cursor()) then
    done({})
    return function() end
  end
  local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_line()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  params.context = { triggerKind = by_key and INVOKED or AUTOMATIC }
  local _, id = compat.call(server, "request", METHOD, params, function(err, result)
    local found = {}
    for _, raw in ipairs(not err and type(result) == "table" and result.items or {}) do
      local shown = item.read(raw, line, row - 1, col, server.offset_encoding)
      if shown then
        raw.id = client.answer and client.answer.id -- the server knows it again by that
        feedback.shown(buf, shown)
        table.insert(found, completion(shown, row - 1, col, line))
      end
    end
    done(found)
  end, buf)
  return function()
    if id then
      compat.call(server, "cancel_request", id)
    end
  end
end

---An item was taken from the menu.
---@param taken lsp.CompletionItem
function M.accepted(taken)
  local shown = vim.tbl_get(taken, "data", "dlsp")
  if shown then
    feedback.accepted(vim.api.nvim_get_current_buf(), shown, #shown.text)
  end
end

return M
