import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runCommand, type Ran } from './run-command.ts'

/** A service whose file of panels breaks off in its middle until it is told to be whole. */
async function openPanels() {
  let isWhole = false
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.apache.parquet' })
    response.write('PAR1', () => {
      if (isWhole) response.end('and the rest')
      else response.socket?.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-panels-file-'))
  onTestFinished(async () => {
    rmSync(folder, { recursive: true, force: true })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (out: string): Promise<Ran> =>
    runCommand(['panels', 'BTC-5m', '--out', join(folder, out)], { PRIORBOOK_URL: url })
  return { folder, run, becomeWhole: () => void (isWhole = true) }
}

it('panels --out replaces the file before it only when the new one is whole', async () => {
  const { folder, run, becomeWhole } = await openPanels()
  const path = join(folder, 'panel.parquet')
  writeFileSync(path, 'an older file')
  const broken = await run('panel.parquet')
  expect([broken.status, broken.err]).toEqual([5, expect.stringContaining('the download broke')])
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual([
    'an older file',
    ['panel.parquet'],
  ])
  becomeWhole()
  const whole = await run('panel.parquet')
  expect([whole.status, whole.err]).toEqual([0, `${path}: 16 bytes\n`])
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual([
    'PAR1and the rest',
    ['panel.parquet'],
  ])
})

it('panels --out says that its folder is missing', async () => {
  const { folder, run } = await openPanels()
  const ran = await run('none/panel.parquet')
  const why = `there is no folder ${join(folder, 'none')}`
  expect([ran.status, ran.err]).toEqual([4, expect.stringContaining(why)])
})
