-- A whole function: previewed under its definition while the canvas comes into focus, then accepted or dismissed.
local borrow = require("dlsp.borrow")
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local ghost = require("dlsp.ghost")

local M = {}

local SPACE = vim.api.nvim_create_namespace("dlsp.fill")
local METHOD = "dlsp/fill"
local MASK = "░"

---@class dlsp.Fill
---@field buf integer
---@field tick integer the buffer as it was when this was asked for
---@field client vim.lsp.Client
---@field id integer? the request while it runs
---@field token string
---@field edit {range: lsp.Range, newText: string}? once it is done

local current ---@type dlsp.Fill?
local number = 0

---@param range lsp.Range
---@return integer, integer, integer, integer rows from 0 and columns in bytes
local function place(fill, range)
  return require("dlsp.range").bytes(fill.buf, range, fill.client.offset_encoding)
end

---Show pieces of text, each with its highlight, in virtual lines under the range that they take the place of.
---@param fill dlsp.Fill
---@param range lsp.Range
---@param pieces [string, string][]
local function preview(fill, range, pieces)
  vim.api.nvim_buf_clear_namespace(fill.buf, SPACE, 0, -1)
  local row, col, end_row, end_col = place(fill, range)
  local indent = vim.api.nvim_buf_get_text(fill.buf, row, 0, row, col, {})[1]
  local lines = { indent:find("^%s*$") and { { ghost.expand(indent, 0), "DlspFill" } } or {} }
  for _, piece in ipairs(pieces) do
    for at, text in ipairs(vim.split(piece[1], "\r?\n")) do
      if at > 1 then
        lines[#lines + 1] = {}
      end
      table.insert(lines[#lines], { ghost.expand(text, 0), piece[2] })
    end
  end
  if indent:find("%S") then
    table.remove(lines, 1) -- the rest of the definition's own line
  end
  vim.api.nvim_buf_set_extmark(fill.buf, SPACE, end_row, 0, { virt_lines = lines })
  if row ~= end_row or col ~= end_col then
    local replaced = { end_row = end_row, end_col = end_col, hl_group = "DlspReplaced" }
    vim.api.nvim_buf_set_extmark(fill.buf, SPACE, row, col, replaced)
  end
end

---@param value {range: lsp.Range, committed: string, canvas: (string|userdata)[]}
local function progress(fill, value)
  if current ~= fill then
    return
  end
  local pieces = { { value.committed, "DlspFill" } }
  for _, token in ipairs(value.canvas) do
    pieces[#pieces + 1] = token == vim.NIL and { MASK, "DlspMask" } or { token, "DlspCanvas" }
  end
  preview(fill, value.range, pieces)
end

local function stop()
  local fill = current
  current = nil
  if not fill then
    return
  end
  client.partial[fill.token] = nil
  if fill.id then
    compat.call(fill.client, "cancel_request", fill.id)
  end
  if vim.api.nvim_buf_is_valid(fill.buf) then
    vim.api.nvim_buf_clear_namespace(fill.buf, SPACE, 0, -1)
    borrow.give_back(fill.buf)
  end
end

---@param fill dlsp.Fill
---@param err lsp.ResponseError?
---@param edit {range: lsp.Range, newText: string}?
local function done(fill, err, edit)
  if current ~= fill then
    return
  end
  fill.id = nil
  if err or type(edit) ~= "table" or not edit.newText then
    stop()
    local unknown = err and err.code == -32601
    local why = unknown and "this server cannot fill functions; update dlsp." or err and err.message
    return vim.notify("dlsp: " .. (why or "nothing to fill in here."), vim.log.levels.INFO)
  end
  fill.edit = edit
  preview(fill, edit.range, { { edit.newText, "DlspFill" } })
end

---Write the function at the cursor.
function M.start()
  stop()
  require("dlsp.suggest").clear()
  require("dlsp.edits").clear()
  local buf = vim.api.nvim_get_current_buf()
  local server = client.of(buf)
  if not server then
    return vim.notify("dlsp: the server is not running here; see `:Dlsp status`.", vim.log.levels.INFO)
  end
  number = number + 1
  local token = "dlsp-fill-" .. number
  local fill = { buf = buf, tick = vim.api.nvim_buf_get_changedtick(buf), client = server, token = token }
  current = fill
  client.partial[token] = function(value)
    progress(fill, value)
  end
  borrow.take(buf, { ["<Tab>"] = M.accept, ["<Esc>"] = M.dismiss }, "dlsp: the filled function")
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  params.partialResultToken = token
  local _, id = compat.call(server, "request", METHOD, params, function(err, edit)
    done(fill, err, edit)
  end, buf)
  fill.id = id
end

---Whether a function is shown that can be accepted.
---@return boolean
function M.ready()
  local here = current and current.edit and current.buf == vim.api.nvim_get_current_buf()
  return here and current.tick == vim.api.nvim_buf_get_changedtick(current.buf) or false
end

---Put the shown function into the buffer, as one undo step, and the cursor at its end.
---@return boolean whether there was one
function M.accept()
  local fill = current
  if not (fill and M.ready()) then
    return false
  end
  stop()
  local row, col, end_row, end_col = place(fill, fill.edit.range)
  local lines = vim.split((fill.edit.newText:gsub("\r\n?", "\n")), "\n")
  vim.api.nvim_buf_set_text(fill.buf, row, col, end_row, end_col, lines)
  local on = vim.api.nvim_get_mode().mode == "i" and 0 or 1 -- in normal mode, the cursor is on the last character
  vim.api.nvim_win_set_cursor(0, { row + #lines, math.max(0, #lines[#lines] - on + (#lines == 1 and col or 0)) })
  return true
end

---@return boolean whether there was one, shown or on its way
function M.dismiss()
  local there = current ~= nil
  stop()
  return there
end

---The buffer changed: what was to be replaced may not be there any more.
---@param buf integer
function M.changed(buf)
  if current and current.buf == buf and vim.api.nvim_buf_get_changedtick(buf) ~= current.tick then
    stop()
  end
end

---A client has left the buffer: what its server has not answered yet it never will.
---@param buf integer
---@param id integer the client's
function M.lost(buf, id)
  if current and current.buf == buf and current.client.id == id and not current.edit then
    stop()
    vim.notify("dlsp: the server ended before the function was filled in.", vim.log.levels.INFO)
  end
end

---The buffer was left.
---@param buf integer
function M.leave(buf)
  if current and current.buf == buf then
    stop()
  end
end

return M
