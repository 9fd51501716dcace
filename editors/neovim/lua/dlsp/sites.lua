-- The places that should follow an edit, as marks in the buffers: the text that would go, and the one that would come.
local range = require("dlsp.range")

local M = {}

local SPACE = vim.api.nvim_create_namespace("dlsp.sites")
local MOST_LINES = 8 -- named of one file
local MARK = "»"

---@class dlsp.Site one place; `range` holds exactly `oldText`
---@field id string
---@field textDocument {uri: string, version: integer|userdata}
---@field range lsp.Range
---@field oldText string
---@field newText string
---@field certain boolean whether it may be changed together with others, unseen

---The buffer of a place, nil where its file is not loaded.
---@param site dlsp.Site
---@return integer?
function M.buffer(site)
  local buf = vim.uri_to_bufnr(site.textDocument.uri) -- that of the file, whichever of its names it was opened by
  return vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

---Whether two URIs name the same file, also by links or, where the system makes no difference, as `A` and `a`.
---@param a string
---@param b string
---@return boolean
function M.same(a, b)
  return a == b or vim.uri_to_bufnr(a) == vim.uri_to_bufnr(b)
end

---The places in each file: their lines, from 1.
---@param all dlsp.Site[] in order
---@return {uri: string, lines: integer[]}[]
function M.by_file(all)
  local files = {}
  for _, site in ipairs(all) do
    local file = files[#files]
    if not file or file.uri ~= site.textDocument.uri then
      file = { uri = site.textDocument.uri, lines = {} }
      files[#files + 1] = file
    end
    file.lines[#file.lines + 1] = site.range.start.line + 1
  end
  return files
end

---Whether a window shows the line of a place.
---@param site dlsp.Site
---@return boolean
function M.in_sight(site)
  local buf, line = M.buffer(site), site.range.start.line + 1
  for _, win in ipairs(buf and vim.fn.win_findbuf(buf) or {}) do
    local seen = vim.api.nvim_win_call(win, function()
      return line >= vim.fn.line("w0") and line <= vim.fn.line("w$") and vim.fn.foldclosed(line) < 0
    end)
    if seen and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      return true
    end
  end
  return false
end

---A file and the lines of its places, in a few words.
---@param file {uri: string, lines: integer[]}
---@return string
function M.told(file)
  local lines = vim.list_slice(file.lines, 1, MOST_LINES)
  local more = #file.lines > MOST_LINES and (" and %d more"):format(#file.lines - MOST_LINES) or ""
  local one = #file.lines == 1 and "line" or "lines"
  return ("%s %s %s%s"):format(M.name(file.uri), one, table.concat(lines, ", "), more)
end

---The order of places: file by file, down the text.
---@param a dlsp.Site
---@param b dlsp.Site
---@return boolean
function M.before(a, b)
  local from, to = a.range.start, b.range.start
  if a.textDocument.uri ~= b.textDocument.uri then
    return a.textDocument.uri < b.textDocument.uri
  end
  return from.line < to.line or (from.line == to.line and from.character < to.character)
end

---Whether a place in a loaded buffer is what the server meant, and may be changed.
---@param buf integer
---@param site dlsp.Site
---@param encoding string
---@return boolean
function M.stands(buf, site, encoding)
  local version = site.textDocument.version
  local known = require("dlsp.client").versions[buf]
  if not vim.bo[buf].modifiable or (type(version) == "number" and version ~= known) then
    return false
  end
  return range.text(buf, site.range, encoding) == (site.oldText:gsub("\r\n?", "\n"))
end

---@param buf integer
---@param site dlsp.Site
---@param encoding string
function M.draw(buf, site, encoding)
  local row, col, end_row, end_col = range.bytes(buf, site.range, encoding)
  if site.oldText ~= "" then
    local gone = { end_row = end_row, end_col = end_col, hl_group = "DlspReplaced" }
    vim.api.nvim_buf_set_extmark(buf, SPACE, row, col, gone)
  end
  local lines = vim.split((site.newText:gsub("\r\n?", "\n")), "\n")
  local under = {}
  for number = 2, #lines do
    under[#under + 1] = { { require("dlsp.ghost").expand(lines[number], 0), "DlspSite" } }
  end
  vim.api.nvim_buf_set_extmark(buf, SPACE, end_row, end_col, {
    virt_text = { { lines[1], "DlspSite" } },
    virt_text_pos = "inline",
    virt_lines = #under > 0 and under or nil,
  })
end

---A mark in the margin, beside the line of a place.
---@param buf integer
---@param site dlsp.Site
function M.mark(buf, site)
  local mark = { sign_text = MARK, sign_hl_group = "DlspHint" }
  vim.api.nvim_buf_set_extmark(buf, SPACE, site.range.start.line, 0, mark)
end

---A file's name as users know it: relative to the working directory where it lies in that.
---@param uri string
---@return string
function M.name(uri)
  return vim.fn.fnamemodify(vim.uri_to_fname(uri), ":~:.")
end

---What the keys do now, behind the line of the edit.
---@param buf integer
---@param row integer
---@param hint string
function M.hint(buf, row, hint)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local text = { { "  " .. hint, "DlspHint" } }
  vim.api.nvim_buf_set_extmark(buf, SPACE, math.min(row, last), 0, { virt_text = text, hl_mode = "combine" })
end

---@param buf integer
function M.hide(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1)
  end
end

return M
