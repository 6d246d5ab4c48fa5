// Draws `priorbook watch` in a real terminal (tmux) over emulated venues and puts the picture into the
// README, between its two marks.
//   node scripts/watch-picture.mjs [--print]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import './check-node.mjs'

const { values } = parseArgs({ options: { print: { type: 'boolean', default: false } } })
const COLUMNS = 88
const ROWS = 22
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-picture-'))
const socket = `priorbook-${process.pid}`
const tmux = (...args) => execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' })
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const server = spawn(
  process.execPath,
  [
    join(root, 'packages/service/bin/priorbook-server.mjs'),
    ...'serve --upstream emulator --seed 5 --speed 2 --workers 1 --port 0 --ops-port 0'.split(' '),
    '--data',
    join(folder, 'data'),
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  let said = ''
  server.stdout.on('data', (text) => (said += text))
  const find = (pattern) => pattern.exec(said)?.[1]
  while (find(/(pb_live_\w+)/) === undefined) await sleep(100)
  const env = {
    ...process.env,
    PRIORBOOK_URL: find(/(http:\/\/\S+)\/docs/),
    PRIORBOOK_KEY: find(/(pb_live_\w+)/),
  }
  const program = join(root, 'packages/sdk/bin/priorbook.mjs')
  await sleep(8000)
  const list = ['markets', 'KXBTC15M', '--status', 'open', '-n', '1', '--json', '-q']
  const market = JSON.parse(execFileSync(process.execPath, [program, ...list], { env }))
  const command = [process.execPath, program, 'watch', `venueb:${market.market_id}`, '-d', '8']
  execFileSync(
    'tmux',
    ['-L', socket, 'new-session', '-d', '-x', String(COLUMNS), '-y', String(ROWS), ...command],
    { env },
  )
  await sleep(9000)
  const picture = tmux('capture-pane', '-p').trimEnd()
  tmux('send-keys', 'q')
  if (!picture.includes('● live')) throw new Error(`the picture is not live:\n${picture}`)
  if (values.print) console.log(picture)
  else {
    const path = join(root, 'README.md')
    const text = readFileSync(path, 'utf8')
    const marked = /(<!-- watch -->\n```text\n)[\s\S]*?(\n```\n<!-- \/watch -->)/
    if (!marked.test(text)) throw new Error('the README has no marks <!-- watch -->')
    writeFileSync(
      path,
      text.replace(marked, (_, before, after) => before + picture + after),
    )
  }
} finally {
  server.kill()
  await new Promise((resolve) => server.once('exit', resolve))
  rmSync(folder, { recursive: true, force: true })
}
