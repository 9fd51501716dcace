-- dlsp for Neovim: commands, maps and events. Everything else is loaded when a file is opened.
if vim.g.loaded_dlsp then
  return
end
vim.g.loaded_dlsp = true
if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("dlsp needs Neovim 0.10 or newer.", vim.log.levels.WARN)
  return
end

local group = vim.api.nvim_create_augroup("dlsp", {})

-- Neovim's own color scheme gives these two no color in a terminal without true color, where ghost text would look like
-- text. What is linked to them here has one that stands out from text on light and dark, in 8 colors too.
local DIM_CTERM_COLOR = 6 -- dark cyan
local function dim()
  for _, name in ipairs({ "Comment", "NonText" }) do
    local attributes = vim.api.nvim_get_hl(0, { name = name, link = false })
    if not attributes.ctermfg and vim.tbl_isempty(attributes.cterm or {}) then
      attributes.ctermfg = DIM_CTERM_COLOR
    end
    vim.api.nvim_set_hl(0, "Dlsp" .. name, attributes)
  end
end
dim()
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = dim })

for name, link in pairs({
  Ghost = "DlspComment", -- text that is suggested
  Fill = "String", -- text of a filled function that is fixed
  Canvas = "DlspComment", -- text of a filled function that may change still
  Mask = "DlspNonText", -- places of a filled function that are open still
  Replaced = "DiffDelete", -- what something new takes the place of
  Site = "DiffAdd", -- what would come at a place that follows an edit
  Hint = "DlspNonText", -- what the keys do
}) do
  vim.api.nvim_set_hl(0, "Dlsp" .. name, { link = link, default = true })
end

local function map(mode, name, call)
  -- <C-G>u on both sides: what is accepted is an undo step of its own.
  local undo = mode == "i" and "<C-G>u" or ""
  local keys = undo .. '<Cmd>lua require("dlsp").' .. call .. "<CR>" .. undo
  vim.keymap.set(mode, "<Plug>(dlsp-" .. name .. ")", keys, { desc = "dlsp: " .. name:gsub("-", " ") })
end
map("i", "accept", 'accept("all")')
for _, part in ipairs({ "part", "word", "line", "block" }) do
  map("i", "accept-" .. part, ('accept("%s")'):format(part))
end
for _, mode in ipairs({ "i", "n" }) do
  map(mode, "next", "cycle(1)")
  map(mode, "previous", "cycle(-1)")
  map(mode, "dismiss", "dismiss()")
  map(mode, "fill", "fill()")
  map(mode, "instruct", "instruct()")
  map(mode, "next-edit", "next_edit()")
  map(mode, "accept-edit", "accept_edit()")
  map(mode, "accept-edits", "accept_edits()")
  map(mode, "dismiss-edits", "dismiss()")
end
for name, command in pairs({ fill = "fill", instruct = "instruct" }) do
  vim.keymap.set("x", "<Plug>(dlsp-" .. name .. ")", ":Dlsp " .. command .. "<CR>", { desc = "dlsp: " .. name })
end

vim.api.nvim_create_user_command("Dlsp", function(command)
  require("dlsp.command").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "dlsp: status, why, fill, instruct, toggle, snooze, log, restart, context",
  complete = function(lead, line)
    return require("dlsp.command").complete(lead, line)
  end,
})

vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "FileType" }, {
  group = group,
  callback = function(event)
    require("dlsp").open(event.buf)
  end,
})

vim.api.nvim_create_autocmd("BufFilePre", { -- the server knows a buffer by its name, and does not know the new one
  group = group,
  callback = function(event)
    require("dlsp").close(event.buf)
    require("dlsp").open(event.buf) -- the name may be refused
  end,
})
vim.api.nvim_create_autocmd("BufFilePost", {
  group = group,
  callback = function(event)
    require("dlsp").attach(event.buf)
  end,
})

-- Keys last, so that those of the user and of other plugins are seen and left alone.
local function keys()
  require("dlsp.keys").set()
end
if vim.v.vim_did_enter == 1 then
  vim.schedule(keys) -- after `setup`, which plugin managers call next
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    require("dlsp").open(buf)
  end
else
  vim.api.nvim_create_autocmd("VimEnter", { group = group, once = true, callback = keys })
end
