$Global:__ahphub = @{ Nonce = [IO.File]::ReadAllText('/dev/fd/3').Trim(); Prompt = $function:prompt; ReadLine = $function:PSConsoleHostReadLine; Ran = $false }

# __ahphub_escape escapes a text for a field of a mark.
function Global:__ahphub_escape([string]$Text) {
  [regex]::Replace($Text, '[\\;\x00-\x1f\x7f]', { param($m) if ($m.Value -eq '\') { '\\' } else { '\x{0:x2}' -f [int][char]$m.Value } })
}

# prompt marks the end of a command with its exit code, the directory, and the original prompt.
function Global:prompt {
  $ok = $?
  $last = $Global:LASTEXITCODE
  $nonce = $Global:__ahphub.Nonce
  $marks = ''
  if ($Global:__ahphub.Ran) {
    $code = if ($ok) { 0 } elseif ($last) { $last } else { 1 }
    $marks = "`e]633;D;$code;$nonce`a"
    $Global:__ahphub.Ran = $false
  }
  if ($PWD.Provider.Name -eq 'FileSystem') { $marks += "`e]633;P;Cwd=$(__ahphub_escape $PWD.ProviderPath);$nonce`a" }
  $text = $Global:__ahphub.Prompt.Invoke()
  $Global:LASTEXITCODE = $last
  "$marks`e]633;A;$nonce`a$text"
}

# PSConsoleHostReadLine marks the start of a command, once its line is read.
if ($Global:__ahphub.ReadLine) {
  function Global:PSConsoleHostReadLine {
    $line = $Global:__ahphub.ReadLine.Invoke()
    $nonce = $Global:__ahphub.Nonce
    $Global:__ahphub.Ran = $true
    [Console]::Write("`e]633;E;$(__ahphub_escape "$line");$nonce`a`e]633;C;$nonce`a")
    $line
  }
}
