-- The first part of a word, word, line or block of a text: what is accepted in part.
local M = {}

---@alias dlsp.Part "all"|"part"|"word"|"line"|"block"

-- `part`: of a name in camelCase or snake_case, `parse`, `HTTP` and `Response`, or `max` and `_length`. `block`: up to
-- the next blank line.
local NAME_PART = [=[_*%(\d+|[[:upper:]]+\ze[[:upper:]][[:lower:]]|[[:upper:]]?[[:lower:]]+|[[:upper:]]+)]=]
local FIRST = {
  part = [=[\v\C^\_s*%(]=] .. NAME_PART .. [=[|\k+|[^[:keyword:][:space:]]+)]=],
  word = [=[\v^\_s*%(\k+|[^[:keyword:][:space:]]+)]=],
  line = [=[\v^\n*[^\n]*]=],
  block = [=[\v^\n*[^\n]*%(\n\s*[^ \t\n][^\n]*)*]=],
}
local CLOSES = { ["("] = ")", ["["] = "]", ["{"] = "}", ['"'] = '"', ["'"] = "'", ["`"] = "`" }
local QUOTES = { ['"'] = true, ["'"] = true, ["`"] = true }

---@param text string
---@param part dlsp.Part
---@return string not empty unless `text` is
function M.first(text, part)
  if part == "all" then
    return text
  end
  local found = vim.fn.matchstr(text, FIRST[part])
  return found ~= "" and found or text
end

---How many bytes of `after`, the text behind the cursor, are in `text` too: closers that it has not opened itself.
---@param text string
---@param after string
---@return integer
function M.closed(text, after)
  local open, count = {}, 0
  for char in text:gsub("\\.", ""):gmatch(".") do
    local last, wanted = open[#open], after:sub(count + 1, count + 1)
    local in_string = QUOTES[wanted] -- all up to this quote belongs to the string that the cursor was in
    if char == wanted and (in_string or #open == 0) then
      count = count + 1
    elseif not in_string and char == last then
      table.remove(open)
    elseif not in_string and CLOSES[char] and not QUOTES[last] then
      table.insert(open, CLOSES[char])
    end
  end
  return count
end

return M
