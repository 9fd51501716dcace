-- The suggestion at the cursor: requests it, shows it, shortens it as its text is typed, accepts it.
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local config = require("dlsp.config")
local feedback = require("dlsp.feedback")
local ghost = require("dlsp.ghost")
local item = require("dlsp.item")
local menu = require("dlsp.menu")
local switch = require("dlsp.switch")

local M = {}

local METHOD = "textDocument/inlineCompletion"
local OTHERS = "dlsp/alternatives"
local AUTOMATIC, INVOKED = 2, 1
local MAX_TYPED = 8 -- bytes of a line that are typed over a suggestion before it is hidden
local PAUSE_MS = 700 -- until it comes back

---@class dlsp.Place where something was asked for
---@field buf integer
---@field row integer from 0
---@field col integer in bytes
---@field before string the line up to the cursor
---@field after string the line from the cursor on

---@class dlsp.Suggestion: dlsp.Place
---@field items dlsp.Item[]
---@field index integer
---@field taken integer? bytes of its text after which it was accepted in part, or came back
---@field hidden boolean? it was typed over for long
---@field others boolean? whether others are being asked for

local current ---@type dlsp.Suggestion?
local asked ---@type {client: vim.lsp.Client, id: integer?}?
local timer = assert(vim.uv.new_timer())

---@return dlsp.Place
local function here()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  local buf = vim.api.nvim_get_current_buf()
  return { buf = buf, row = row - 1, col = col, before = line:sub(1, col), after = line:sub(col + 1) }
end

---Whether a suggestion may be shown now.
---@return boolean
local function allowed()
  local mode = vim.api.nvim_get_mode().mode
  local inserts = mode == "i" or mode == "ic" -- 'autocomplete' stays in this mode where it finds nothing
  local in_text = vim.fn.getcurpos()[4] == 0 -- with 'virtualedit' the cursor may be where no text is
  return inserts and in_text and not menu.open() and menu.one_cursor() and switch.on(0)
end

---The part of `s` that has not been typed yet, and how many bytes of closing brackets and quotes after the cursor it
---replaces. Nil if something else was typed, or if nothing is left but these.
---@param s dlsp.Suggestion
---@return string?, integer, integer typed bytes
local function left(s)
  local now = here()
  if now.buf ~= s.buf or now.row < s.row or (now.row == s.row and now.col < s.col) then
    return nil, 0, 0
  end
  local typed = vim.api.nvim_buf_get_text(s.buf, s.row, 0, now.row, now.col, {})
  local text, chosen = table.concat(typed, "\n"), s.items[s.index]
  local stands = text:sub(1, #s.before) == s.before
  local so_far = text:sub(#s.before + 1)
  local rest = chosen.text:sub(#so_far + 1)
  if not stands or rest == "" or chosen.text:sub(1, #so_far) ~= so_far then
    return nil, 0, 0
  end
  -- Closing brackets and quotes stand before the rest of the line, some of them perhaps added since by another plugin.
  local closed = #now.after - #chosen.after
  if closed < 0 or now.after:sub(closed + 1) ~= chosen.after then
    return nil, 0, 0
  end
  local closers = now.after:sub(1, closed)
  if closers:find("[^%)%]}>\"'`]") or rest == closers or not ghost.pieces(rest, closers) then
    return nil, 0, 0
  end
  return rest, closed, #so_far
end

local function cancel()
  timer:stop()
  if asked then
    if asked.id then
      compat.call(asked.client, "cancel_request", asked.id)
    end
    asked = nil
  end
end

---Forget the suggestion and whatever was asked for.
function M.clear()
  cancel()
  if current then
    ghost.hide(current.buf)
    current = nil
  end
end

---Whether what is typed over for long stays.
---@return boolean
local function eager()
  local wanted = config.get().settings.suggest
  if type(wanted) == "table" then
    wanted = wanted[vim.bo.filetype] or wanted["*"]
  end
  return wanted == "eager"
end

---@return boolean whether it could be shown, or is hidden since it was typed over for long
local function show()
  local rest, tail, typed = nil, 0, 0
  if current and allowed() then
    rest, tail, typed = left(current)
  end
  if not rest then
    return false
  end
  local over = current.items[current.index].text:sub((current.taken or 0) + 1, typed):match("[^\n]*$")
  current.hidden = #over > MAX_TYPED and not eager()
  if current.hidden then
    ghost.hide(current.buf)
    return true
  end
  local now = here()
  ghost.show(now.buf, now.row, now.col, rest, tail)
  feedback.shown(now.buf, current.items[current.index])
  return true
end

---Show again what was typed over for long.
local function come_back()
  if current and current.hidden then
    current.taken = select(3, left(current))
    show()
  end
end

---@param place dlsp.Place
---@param result any what the server answered
---@param encoding string
---@return dlsp.Suggestion?
local function read(place, result, encoding)
  local items = {}
  for _, raw in ipairs(type(result) == "table" and result.items or {}) do
    items[#items + 1] = item.read(raw, place.before .. place.after, place.row, place.col, encoding)
  end
  if #items > 0 then
    items[1].raw.id = client.answer and client.answer.id -- the server knows it again by that
    return vim.tbl_extend("force", place, { items = items, index = 1 })
  end
end

---Request a suggestion for the cursor's place.
---@param kind 1|2
local function ask(kind)
  local server = client.of(0)
  if not (allowed() and server and server.server_capabilities.inlineCompletionProvider) then
    return
  end
  cancel()
  local place, this = here(), { client = server }
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  params.context = { triggerKind = kind }
  asked = this
  local _, id = compat.call(server, "request", METHOD, params, function(err, result)
    if asked ~= this then
      return
    end
    asked = nil
    current = not err and read(place, result, server.offset_encoding) or current
    M.check()
  end, place.buf)
  this.id = id
end

---Something happened in insert mode: show the suggestion if it still fits, else request one after a pause in typing.
---@param again boolean? ask also where nothing changed since the last answer
function M.check(again)
  if show() then
    cancel()
    if current.hidden then
      timer:start(PAUSE_MS, 0, vim.schedule_wrap(come_back))
    end
    return
  end
  local answered = not again and current == nil
  if current then
    M.clear()
  end
  if not answered and allowed() then
    cancel()
    timer:start(
      config.get().debounce,
      0,
      vim.schedule_wrap(function()
        ask(AUTOMATIC)
      end)
    )
  end
end

---@return boolean
function M.visible()
  return current ~= nil and not current.hidden and not menu.open() and menu.one_cursor() and left(current) ~= nil
end

---Whether there is one that was typed over for long: it comes back at a pause, or by the keys for others.
---@return boolean
function M.hidden()
  return current ~= nil and current.hidden == true and left(current) ~= nil
end

---Replace the `tail` bytes after the cursor by `text`, and put the cursor at its end.
---@param text string
---@param tail integer
function M.insert(text, tail)
  local now, lines = here(), vim.split(text, "\n")
  vim.api.nvim_buf_set_text(now.buf, now.row, now.col, now.row, now.col + tail, lines)
  local col = #lines[#lines] + (#lines == 1 and now.col or 0)
  vim.api.nvim_win_set_cursor(0, { now.row + #lines, col })
end

---Accept the suggestion, or the next part of it.
---@param part dlsp.Part
---@return boolean whether there was one
function M.accept(part)
  local s = M.visible() and current
  if not s then
    return false
  end
  local rest, tail, typed = left(s)
  local parts = require("dlsp.parts")
  local text, now = parts.first(rest, part), here()
  local all = text == rest
  M.insert(text, all and tail or parts.closed(text, now.after:sub(1, tail)))
  s.taken = typed + #text
  feedback.accepted(s.buf, s.items[s.index], s.taken)
  if all then
    M.clear()
    M.check(true)
  else
    show()
  end
  return true
end

---@return boolean whether there was one
function M.dismiss()
  local s = M.visible() and current
  M.clear()
  if s then
    feedback.dismissed(s.buf, s.items[s.index])
  end
  return s and true or false
end

---@param step 1|-1
local function turn(step)
  current.index = (current.index - 1 + step) % #current.items + 1
  show()
end

---Ask for other suggestions than the one that is shown, and show one of them.
---@param s dlsp.Suggestion
---@param step 1|-1
local function ask_others(s, step)
  local server, now = client.of(s.buf), here()
  local _, _, typed = left(s)
  local so_far = s.items[s.index].text:sub(1, typed)
  local params = server and vim.lsp.util.make_position_params(0, server.offset_encoding)
  if s.others or not server or not params then
    return
  end
  s.others = true
  compat.call(server, "request", OTHERS, params, function(err, result)
    if current ~= s then
      return
    end
    s.others = false
    for _, raw in ipairs(not err and result and result.items or {}) do
      local each = item.read(raw, now.before .. now.after, now.row, now.col, server.offset_encoding)
      if each then
        each.text, raw.insertText = so_far .. each.text, so_far .. raw.insertText
        local known = vim.tbl_contains(s.items, function(other)
          return other.text == each.text
        end, { predicate = true })
        if not known then
          table.insert(s.items, each)
        end
      end
    end
    if #s.items > 1 then
      turn(step)
    else
      client.tell(err and "dlsp: " .. err.message or "dlsp: the model has no other suggestion here.")
    end
  end, s.buf)
end

---Show the next suggestion of several; the server is asked once for others, and for the first where none is shown.
---@param step 1|-1
function M.cycle(step)
  if not current or not left(current) then
    ask(INVOKED)
  elseif M.hidden() then
    come_back()
  elseif #current.items > 1 then
    turn(step)
  else
    ask_others(current, step)
  end
end

---The suggestion that is shown now, nil if there is none; for scripts.
---@return string?
function M.text()
  return M.visible() and (left(current)) or nil
end

return M
