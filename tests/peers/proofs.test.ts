import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { DATED, FIRST_ROWS, LATE_ROWS, writeDated } from '../api/dated-tape.ts'

// The program in docs/formats/proof.md, with Python's hashlib and OpenSSL's Ed25519.
const folder = mkdtempSync(join(tmpdir(), 'priorbook-python-'))
let service: ServiceProcess
let key: string

beforeAll(async () => {
  service = await createService(['--upstream', 'none'])
  await writeDated(service.data, FIRST_ROWS)
  await callServer('prove', '--data', service.data)
  await writeDated(service.data, LATE_ROWS, 10_000)
  await callServer('prove', '--data', service.data)
  key = service.keyOf('unlimited')
  await service.start()
  const page = readFileSync(join(import.meta.dirname, '../../docs/formats/proof.md'), 'utf8')
  const [, program] = /```python\n([\s\S]+?)```/.exec(page)!
  const call = `
import sys
print(json.dumps(check_day(json.load(open(sys.argv[1]))['data'], sys.argv[2])))
`
  writeFileSync(join(folder, 'check.py'), program! + call)
}, 120_000)

afterAll(async () => {
  await service.destroy()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(market: string, venue = 'venueb'): Promise<{ text: string; own: string }> {
  const url = `${service.url}/v3/proofs/2026-08-11?venue=${venue}&market_id=${market}`
  const text = await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).text()
  return { text, own: (JSON.parse(text) as { meta: { key: string } }).meta.key }
}

function check(text: string, own: string): string {
  const file = join(folder, 'answer.json')
  writeFileSync(file, text)
  const { status, stdout } = spawnSync('python3', [join(folder, 'check.py'), file, own], {
    encoding: 'utf8',
  })
  return status === 0 ? stdout : 'refused'
}

describe('Python and OpenSSL read a signed day', () => {
  it('with its amendment, and find the chunks of a market and no others', async () => {
    for (const [market, venue, first] of [
      [DATED.over.market, 'venueb', [1]],
      [DATED.late.market, 'venueb', [1]],
      [DATED.yes.market, 'venuec', [1, 1025, 1, 1025]],
    ] as const) {
      const { text, own } = await ask(market, venue)
      const leaves = JSON.parse(check(text, own)) as readonly (readonly unknown[])[]
      expect(leaves.map((leaf) => leaf[5])).toEqual(first)
    }
  })

  it('and refuse every change', async () => {
    const { text, own } = await ask(DATED.over.market)
    const refused = (changed: string, by = own): void => {
      expect(changed === text && by === own).toBe(false)
      expect(check(changed, by)).toBe('refused')
    }
    refused(text.replace(',1024,', ',1023,'))
    refused(text.replace('size 7', 'size 8'))
    // The same leaves prove that another market between them has none.
    expect(check(text.replace('"market_id":"KXOVER', '"market_id":"KXOVES'), own)).toBe('[]\n')
    refused(text, 'ab'.repeat(32))
  })
})
