-- A change that the server proposes: asked for, shown under the text that it replaces, then accepted or dismissed.
--
-- Nothing of it is in the buffer before it is accepted. A filled function and the answer to an instruction are both
-- shown this way; one at a time.
local borrow = require("dlsp.borrow")
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local config = require("dlsp.config")
local ghost = require("dlsp.ghost")

local M = {}

local SPACE = vim.api.nvim_create_namespace("dlsp.preview")
local OWNER = "preview"
local MASK = "░"
local UNKNOWN = -32601 -- MethodNotFound: the server is an older one

---@class dlsp.Request
---@field method string
---@field params table
---@field range lsp.Range? what is being changed, if that is known before the server answers
---@field working string what to say while the server works
---@field unknown string the sentence for a server that does not know the method
---@field nothing string the sentence for an answer without a change

---@class dlsp.Preview
---@field buf integer
---@field tick integer the buffer as it was when this was asked for
---@field client vim.lsp.Client
---@field request dlsp.Request
---@field id integer? the request while it runs
---@field token string
---@field edit {range: lsp.Range, newText: string}? once it is done

local current ---@type dlsp.Preview?
local number = 0

---What the keys do, or what is going on, in a few words behind a line.
---@param preview dlsp.Preview
---@param row integer
local function hint(preview, row)
  local keys, words = config.get().keys, {}
  if not preview.edit then
    words[1] = preview.request.working
  elseif keys["accept-preview"] then
    words[1] = keys["accept-preview"] .. " accepts"
  end
  if keys["dismiss-preview"] then
    words[#words + 1] = keys["dismiss-preview"] .. (preview.edit and " dismisses" or " stops it")
  end
  local text = { { "  " .. table.concat(words, ", "), "DlspHint" } }
  vim.api.nvim_buf_set_extmark(preview.buf, SPACE, row, 0, { virt_text = text, hl_mode = "combine" })
end

---Show pieces of text, each with its highlight, in virtual lines under the range that they take the place of.
---@param preview dlsp.Preview
---@param range lsp.Range
---@param pieces [string, string][]
local function draw(preview, range, pieces)
  local buf = preview.buf
  vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1)
  local row, col, end_row, end_col = require("dlsp.range").bytes(buf, range, preview.client.offset_encoding)
  local before = vim.api.nvim_buf_get_text(buf, row, 0, row, col, {})[1]
  local lines = { before:find("^%s+$") and { { ghost.expand(before, 0), "DlspFill" } } or {} }
  for _, piece in ipairs(pieces) do
    for at, text in ipairs(vim.split(piece[1], "\r?\n")) do
      if at > 1 then
        lines[#lines + 1] = {}
      end
      table.insert(lines[#lines], { ghost.expand(text, 0), piece[2] })
    end
  end
  if before:find("%S") then
    table.remove(lines, 1) -- the rest of the line that stays
  end
  local whole = end_col == 0 and end_row > row -- the range ends with a line, and so does the new text
  if whole and preview.edit then
    table.remove(lines)
  end
  local last = math.min(whole and end_row - 1 or end_row, vim.api.nvim_buf_line_count(buf) - 1)
  vim.api.nvim_buf_set_extmark(buf, SPACE, last, 0, { virt_lines = lines })
  if row ~= end_row or col ~= end_col then
    local replaced = { end_row = end_row, end_col = end_col, hl_group = "DlspReplaced", strict = false }
    vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, replaced)
  end
  hint(preview, row)
  if buf == vim.api.nvim_get_current_buf() then
    ghost.reveal(last)
  end
end

---@param preview dlsp.Preview
---@param value {range: lsp.Range, committed: string, canvas: (string|userdata)[]}
local function progress(preview, value)
  if current ~= preview then
    return
  end
  local pieces = { { value.committed, "DlspFill" } }
  for _, token in ipairs(value.canvas) do
    pieces[#pieces + 1] = token == vim.NIL and { MASK, "DlspMask" } or { token, "DlspCanvas" }
  end
  draw(preview, value.range, pieces)
end

---End what is shown or on its way.
---@return boolean whether there was anything
function M.stop()
  local preview = current
  current = nil
  if not preview then
    return false
  end
  client.partial[preview.token] = nil
  if preview.id then
    compat.call(preview.client, "cancel_request", preview.id)
  end
  if vim.api.nvim_buf_is_valid(preview.buf) then
    vim.api.nvim_buf_clear_namespace(preview.buf, SPACE, 0, -1)
    borrow.give_back(preview.buf, OWNER)
  end
  return true
end

---@param preview dlsp.Preview
---@param err lsp.ResponseError?
---@param edit {range: lsp.Range, newText: string}?
local function answered(preview, err, edit)
  if current ~= preview then
    return
  end
  preview.id = nil
  if err or type(edit) ~= "table" or not edit.newText then
    M.stop()
    local request = preview.request
    local unknown = err and err.code == UNKNOWN and request.unknown
    return vim.notify("dlsp: " .. (unknown or err and err.message or request.nothing), vim.log.levels.INFO)
  end
  preview.edit = edit
  draw(preview, edit.range, { { edit.newText, "DlspFill" } })
end

---Ask the server for a change in the current buffer, and show it.
---@param request dlsp.Request
function M.start(request)
  M.stop()
  require("dlsp.suggest").clear()
  require("dlsp.edits").clear()
  local buf = vim.api.nvim_get_current_buf()
  local server = client.of(buf)
  if not server then
    return vim.notify("dlsp: the server is not running here; see `:Dlsp why`.", vim.log.levels.INFO)
  end
  number = number + 1
  local token = "dlsp-preview-" .. number
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local preview = { buf = buf, tick = tick, client = server, request = request, token = token }
  current = preview
  client.partial[token] = function(value)
    progress(preview, value)
  end
  local keys, configured = {}, config.get().keys
  for action, call in pairs({ ["accept-preview"] = M.accept, ["dismiss-preview"] = M.stop }) do
    if configured[action] then
      keys[configured[action]] = call
    end
  end
  borrow.take(buf, OWNER, keys, "dlsp: the change that is shown")
  hint(preview, request.range and request.range.start.line or vim.api.nvim_win_get_cursor(0)[1] - 1)
  local params = vim.tbl_extend("error", request.params, { partialResultToken = token })
  local _, id = compat.call(server, "request", request.method, params, function(err, edit)
    answered(preview, err, edit)
  end, buf)
  preview.id = id
end

---Whether a change is shown that can be accepted.
---@return boolean
function M.ready()
  local here = current and current.edit and current.buf == vim.api.nvim_get_current_buf()
  return here and current.tick == vim.api.nvim_buf_get_changedtick(current.buf) or false
end

---Put the shown change into the buffer, as one undo step, and the cursor at its end.
---@return boolean whether there was one
function M.accept()
  local preview = current
  if not (preview and M.ready()) then
    return false
  end
  M.stop()
  local encoding, edit = preview.client.offset_encoding, preview.edit
  local row, col, end_row, end_col = require("dlsp.range").bytes(preview.buf, edit.range, encoding)
  local lines = vim.split((edit.newText:gsub("\r\n?", "\n")), "\n")
  local count = vim.api.nvim_buf_line_count(preview.buf)
  if end_row >= count then -- the range ends behind the last line, which has no line end to replace
    end_row, end_col = count - 1, #vim.api.nvim_buf_get_lines(preview.buf, count - 1, count, true)[1]
    if lines[#lines] == "" then
      table.remove(lines)
    end
  end
  vim.api.nvim_buf_set_text(preview.buf, row, col, end_row, end_col, lines)
  local last = #lines
  if lines[last] == "" and last > 1 then -- whole lines were replaced: the last of them, not the one after
    last = last - 1
  end
  local on = vim.api.nvim_get_mode().mode == "i" and 0 or 1 -- in normal mode, the cursor is on the last character
  vim.api.nvim_win_set_cursor(0, { row + last, math.max(0, #lines[last] - on + (last == 1 and col or 0)) })
  return true
end

---The buffer changed: what was to be replaced may not be there any more.
---@param buf integer
function M.changed(buf)
  if current and current.buf == buf and vim.api.nvim_buf_get_changedtick(buf) ~= current.tick then
    M.stop()
  end
end

---A client has left the buffer: what its server has not answered yet it never will.
---@param buf integer
---@param id integer the client's
function M.lost(buf, id)
  if current and current.buf == buf and current.client.id == id and not current.edit then
    M.stop()
    vim.notify("dlsp: the server ended before it had an answer.", vim.log.levels.INFO)
  end
end

---The buffer was left.
---@param buf integer
function M.leave(buf)
  if current and current.buf == buf then
    M.stop()
  end
end

return M
