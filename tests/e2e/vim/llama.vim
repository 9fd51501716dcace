" A plugin of these tests: it sends what llama.vim (a1c8e6e) is recorded to send, and shows ghost text as that does.
" g:llama_endpoint is the server's /infill. What was sent and received is in g:llama_sent and g:llama_received.
let g:llama_sent = []
let g:llama_received = []
let s:curl = $DLSP_CURL
let s:fields = ['content', 'timings/prompt_n', 'timings/prompt_ms', 'timings/prompt_per_token_ms',
      \ 'timings/prompt_per_second', 'timings/predicted_n', 'timings/predicted_ms', 'timings/predicted_per_token_ms',
      \ 'timings/predicted_per_second', 'truncated', 'tokens_cached']
let s:ghost = []
let s:answer = ''
highlight Ghost ctermfg=244
call prop_type_add('ghost', {'highlight': 'Ghost'})

function! s:Ring() abort
  return [{'text': "A = 1\n", 'time': [1, 2], 'filename': 'a.py'}]
endfunction

function! s:Body() abort
  let l:line = getline('.')
  let l:blank = l:line =~# '^\s*$'
  let l:here = col('.') - 1
  return {
        \ 'id_slot': 0,
        \ 'input_prefix': join(getline(max([1, line('.') - 256]), line('.') - 1), "\n") . "\n",
        \ 'input_suffix': strpart(l:line, l:here) . "\n" . join(getline(line('.') + 1, line('.') + 64), "\n") . "\n",
        \ 'input_extra': s:Ring(), 'prompt': l:blank ? '' : strpart(l:line, 0, l:here),
        \ 'n_predict': 128, 'stop': [], 'n_indent': l:blank ? 0 : indent('.'), 'top_k': 40, 'top_p': 0.9,
        \ 'stream': v:false, 'samplers': ['top_k', 'top_p', 'infill'], 'cache_prompt': v:true,
        \ 't_max_prompt_ms': 500, 't_max_predict_ms': 250, 'response_fields': s:fields, 'model': ''}
endfunction

function! s:Post(body, Callback) abort
  call add(g:llama_sent, a:body)
  let l:command = [s:curl, '--silent', '--no-buffer', '--request', 'POST', '--url', g:llama_endpoint, '--header',
        \ 'Content-Type: application/json', '--header', 'Authorization: Bearer ', '--data', '@-']
  let l:job = job_start(l:command, {'in_io': 'pipe', 'out_mode': 'raw', 'out_cb': a:Callback})
  call ch_sendraw(l:job, json_encode(a:body))
  call ch_close_in(l:job)
  return l:job
endfunction

" The cache is filled beforehand, as for the chunks of the ring.
function! LlamaWarmUp() abort
  let l:body = extend(s:Body(), {'n_predict': 0, 'samplers': [], 'temperature': 0.0, 'prompt': '',
        \ 't_max_prompt_ms': 1, 't_max_predict_ms': 1, 'response_fields': ['']})
  call s:Post(l:body, {channel, text -> 0})
endfunction

function! LlamaAsk() abort
  call s:Clear()
  if exists('s:job')
    call job_stop(s:job)
  endif
  let s:job = s:Post(s:Body(), function('s:Show'))
endfunction

function! s:Show(channel, text) abort
  " llama.vim's own test of an answer: without a match it is dropped without a word.
  if a:text !~# '^\s*{' || a:text !~# '"content"\s*:"'
    return
  endif
  call add(g:llama_received, json_decode(a:text))
  let l:lines = split(substitute(g:llama_received[-1].content, '\n*$', '', ''), "\n", 1)
  let s:answer = join(l:lines, "\n")
  call prop_add(line('.'), col('.'), {'type': 'ghost', 'text': l:lines[0]})
  for l:below in l:lines[1:]
    call prop_add(line('.'), 0, {'type': 'ghost', 'text': l:below, 'text_align': 'below'})
  endfor
  redraw
endfunction

function! s:Clear() abort
  let s:answer = ''
  call prop_remove({'type': 'ghost', 'all': v:true})
endfunction

function! LlamaAccept() abort
  let l:text = s:answer
  call s:Clear()
  return l:text
endfunction

autocmd TextChangedI * call LlamaAsk()
inoremap <expr> <Tab> LlamaAccept()
