-- dlsp for Neovim: what must be there at start. Everything else is loaded when a file is opened.
if vim.g.loaded_dlsp then
  return
end
vim.g.loaded_dlsp = true
if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("dlsp needs Neovim 0.10 or newer.", vim.log.levels.WARN)
  return
end

for name, link in pairs({
  Ghost = "Comment", -- text that is suggested
  Fill = "String", -- text of a filled function that is fixed
  Canvas = "Comment", -- text of a filled function that may change yet
  Mask = "NonText", -- places of a filled function that are open yet
  Replaced = "DiffDelete", -- what something new takes the place of
  Site = "DiffAdd", -- what an edit carried on would write
  Hint = "NonText", -- which keys carry it on
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
map("i", "accept-word", 'accept("word")')
map("i", "accept-line", 'accept("line")')
for _, mode in ipairs({ "i", "n" }) do
  map(mode, "next", "cycle(1)")
  map(mode, "previous", "cycle(-1)")
  map(mode, "dismiss", "dismiss()")
  map(mode, "fill", "fill()")
  map(mode, "next-edit", "next_edit()")
  map(mode, "accept-edit", "accept_edit()")
  map(mode, "accept-edits", "accept_edits()")
end

vim.api.nvim_create_user_command("Dlsp", function(command)
  require("dlsp.command").run(command)
end, {
  nargs = "*",
  desc = "dlsp: status, toggle, snooze, log, restart, fill, context",
  complete = function(lead, line)
    return require("dlsp.command").complete(lead, line)
  end,
})

local group = vim.api.nvim_create_augroup("dlsp", {})
vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "FileType" }, {
  group = group,
  callback = function(event)
    require("dlsp").open(event.buf)
  end,
})

vim.api.nvim_create_autocmd("BufFilePre", { -- the server knows a buffer by its name, and would know the new one not
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
