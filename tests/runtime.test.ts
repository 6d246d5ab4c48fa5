import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../scripts/check-runtime.mjs')
const INSTALLED = join(import.meta.dirname, '../node_modules/node')

it('refuses a Node that differs from the published one by a byte', () => {
  const check = (folder: string) =>
    spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8' })
  expect(check(INSTALLED)).toMatchObject({ status: 0, stderr: '' })

  const folder = mkdtempSync(join(tmpdir(), 'priorbook-runtime-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const changed = join(folder, 'bin/node')
  mkdirSync(dirname(changed))
  cpSync(join(INSTALLED, 'package.json'), join(folder, 'package.json'))
  const bytes = readFileSync(join(INSTALLED, 'bin/node'))
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(changed, bytes)
  const { status, stderr } = check(folder)
  expect(status).toBe(1)
  expect(stderr).toContain('is not Node')
})
