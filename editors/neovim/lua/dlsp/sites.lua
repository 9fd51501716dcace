-- The places that an edit should be carried on to, as marks in the buffers: what would go, and what would come.
local range = require("dlsp.range")

local M = {}

local SPACE = vim.api.nvim_create_namespace("dlsp.sites")

---@class dlsp.Site one place; `range` holds exactly `oldText`
---@field id string
---@field textDocument {uri: string, version: integer|userdata}
---@field range lsp.Range
---@field oldText string
---@field newText string

---The buffer of a place, nil where its file is not loaded.
---@param site dlsp.Site
---@return integer?
function M.buffer(site)
  local name = vim.uri_to_fname(site.textDocument.uri)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do -- `bufnr()` takes a part of a name, too: a.pyi for a.py
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == name then
      return buf
    end
  end
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
  if not vim.bo[buf].modifiable or type(version) == "number" and version ~= (vim.lsp.util.buf_versions[buf] or 0) then
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
