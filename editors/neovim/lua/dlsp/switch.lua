-- Whether suggestions are switched on: everywhere, in this buffer, at this time.
local M = {}

---@type boolean
local off = false
---@type integer the loop's time, in milliseconds, until which nothing is suggested
local snoozed = 0
local LONG_MS = 2 ^ 31 -- the longest wait of a timer, 24 days
local LONGEST = 20000 -- bytes of a line; in longer ones Neovim takes tens of milliseconds a key to draw inline text

---Why there are no suggestions in `buf`, nil where there are.
---@param buf integer 0: the current one
---@return string?
function M.why_off(buf)
  buf = buf == 0 and vim.api.nvim_get_current_buf() or buf
  if off then
    return "`:Dlsp toggle` switches it on."
  end
  if snoozed > vim.uv.now() then
    local left = math.ceil((snoozed - vim.uv.now()) / 60000)
    return ("snoozed for %d more minute%s."):format(left, left == 1 and "" or "s")
  end
  if vim.b[buf].dlsp == false then
    return "b:dlsp is false in this buffer."
  end
  local filetype = vim.bo[buf].filetype
  if require("dlsp.config").get().filetypes[filetype] == false then
    return "it is switched off for " .. filetype .. " files."
  end
  if buf == vim.api.nvim_get_current_buf() and vim.fn.col("$") > LONGEST then
    return ("this line is longer than %d bytes."):format(LONGEST)
  end
end

---@param buf integer
---@return boolean
function M.on(buf)
  return M.why_off(buf) == nil
end

---For how many minutes it is off everywhere.
---@return number
function M.minutes()
  return off and LONG_MS / 60000 or math.max(0, (snoozed - vim.uv.now()) / 60000)
end

local function changed()
  require("dlsp.native").pause(M.minutes())
  require("dlsp.status").switched()
end

---@return boolean whether it is on now
function M.toggle()
  off = not off and snoozed <= vim.uv.now()
  snoozed = 0
  changed()
  return not off
end

---@param minutes number
function M.snooze(minutes)
  snoozed = vim.uv.now() + minutes * 60000
  changed()
  vim.defer_fn(changed, math.min(minutes * 60000, LONG_MS) + 1)
end

return M
