std = "luajit"
read_globals = { "vim" }
globals = { "vim.g", "vim.b", "vim.bo", "vim.wo", "vim.o", "vim.opt", "vim.env", "vim.v" }
max_line_length = 120
