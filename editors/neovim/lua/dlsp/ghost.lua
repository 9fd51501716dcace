-- Ghost text: a suggestion drawn by extmarks where its text would stand.
local M = {}

local SPACE = vim.api.nvim_create_namespace("dlsp.ghost")
local CHAR = "[%z\1-\127\194-\255][\128-\191]*"

---`text` with its tabs as blanks, as wide as they are from screen column `from` on.
---@param text string
---@param from integer
---@return string
function M.expand(text, from)
  local out, width = {}, from
  for char in text:gmatch(CHAR) do
    local wide = vim.fn.strdisplaywidth(char, width)
    out[#out + 1] = char == "\t" and (" "):rep(wide) or char
    width = width + wide
  end
  return table.concat(out)
end

---Split `line` at the characters of `tail`, in their order. Returns the pieces before each of them and the rest, or nil
---if `line` does not have them all.
---@param line string
---@param tail string
---@return string[]?
function M.pieces(line, tail)
  local pieces, from = {}, 1
  for char in tail:gmatch(CHAR) do
    local at = line:find(char, from, true)
    if not at then
      return nil
    end
    pieces[#pieces + 1] = line:sub(from, at - 1)
    from = at + #char
  end
  pieces[#pieces + 1] = line:sub(from)
  return pieces
end

---Show `text` at a place; it hides the `tail` bytes after it, which it replaces.
---@param buf integer
---@param row integer from 0
---@param col integer in bytes
---@param text string
---@param tail integer
function M.show(buf, row, col, text, tail)
  M.hide(buf)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  local from = vim.fn.strdisplaywidth(line:sub(1, col))
  local lines = vim.split(text, "\n")
  local replaced, rest = line:sub(col + 1, col + tail), line:sub(col + tail + 1)
  local first = M.expand(lines[1], from)
  local under = {}
  for number = 2, #lines do
    under[#under + 1] = { { M.expand(lines[number], 0), "DlspGhost" } }
  end
  local mark = { virt_lines = #under > 0 and under or nil }
  local pieces = #under == 0 and M.pieces(first, replaced)
  if pieces then
    for _, piece in ipairs(pieces) do
      if piece ~= "" then
        local inline = { virt_text = { { piece, "DlspGhost" } }, virt_text_pos = "inline" }
        vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, inline)
      end
      col = col + #(replaced:match("^" .. CHAR) or "")
      replaced = replaced:gsub("^" .. CHAR, "")
    end
    return
  end
  mark.virt_text, mark.virt_text_pos = { { first, "DlspGhost" } }, "inline"
  if rest ~= "" then
    table.insert(under[#under] or mark.virt_text, { M.expand(rest, 0), "Normal" })
  end
  local id = vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, mark)
  local hidden = #under > 0 and buf == vim.api.nvim_get_current_buf() and M.reveal(row) or 0
  if hidden > 0 then -- the window is too low
    local more = { (" … +%d line%s"):format(hidden, hidden > 1 and "s" or ""), "DlspHint" }
    table.insert(mark.virt_text, more)
    mark.id = id
    vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, mark)
  end
  -- The rest of the line is shown at the end of the last ghost line, so here it is covered, wherever the line wraps.
  for char in (replaced .. rest):gmatch(CHAR) do
    local cover = { { (" "):rep(vim.fn.strdisplaywidth(char)), "Normal" } }
    local over = { virt_text = cover, virt_text_pos = "overlay", hl_mode = "replace" }
    vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, over)
    col = col + #char
  end
end

---Scroll the current window down, as far as the cursor stays in it, until the virtual lines below a line are seen.
---@param row integer from 0
---@return integer how many screen lines are hidden still
function M.reveal(row)
  local height, view = vim.api.nvim_win_get_height(0), vim.fn.winsaveview()
  local top, cursor = view.topline, vim.api.nvim_win_get_cursor(0)[1]
  local last = row + 1 == vim.api.nvim_buf_line_count(0)
  local function hidden()
    local below = { start_row = math.min(top - 1, row) } -- virtual lines below a line count as those above the next
    if not last then
      below.end_row, below.end_vcol = row + 1, 0
    end
    return math.max(0, vim.api.nvim_win_text_height(0, below).all - height)
  end
  while hidden() > 0 and top < cursor do
    top = top + 1
  end
  if top ~= view.topline then
    vim.fn.winrestview({ topline = top })
  end
  return hidden()
end

---@param buf integer
function M.hide(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1)
  end
end

return M
