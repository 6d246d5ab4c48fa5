import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toMicros } from '@priorbook/sdk/domain'
import { openJournalWriter } from '../journal/index.ts'
import { callServer } from './call.testing.ts'

function fillJournal(): string {
  const data = mkdtempSync(join(tmpdir(), 'priorbook-journal-command-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  const writer = openJournalWriter({
    dir: join(data, 'journal'),
    venue: 'venueb',
    origin: 'live',
    recorder: 'r1',
    segmentBytes: 20_000,
    sync: false,
  })
  for (let at = 1; at <= 3000; at++) {
    const text = `{"seq":${at},"price":"0.${10 + (at % 80)}","size":"${at * 37}.50"}`
    const bytes = at === 2 ? Uint8Array.of(0xff, 0xfe) : Buffer.from(text)
    writer.append(toMicros(1_786_410_975_904_000 + at * 1000), 'message', bytes, 1)
    if (at % 20 === 0) writer.commit()
  }
  writer.close()
  return data
}

const bytesOf = (data: string): number => {
  const folder = join(data, 'journal/venueb')
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

test('packs, prints the same records, and unpacks', async () => {
  const data = fillJournal()
  const cat = (...more: string[]) =>
    callServer('journal', 'cat', '--venue', 'venueb', '--data', data, ...more)
  const before = await cat('--json')
  const lines = before.out.trimEnd().split('\n')
  expect(lines).toHaveLength(3000)
  expect(JSON.parse(lines[2]!)).toEqual({
    number: 3,
    received_time: '2026-08-11T01:16:15.907000Z',
    kind: 'message',
    slot: 1,
    text: '{"seq":3,"price":"0.13","size":"111.50"}',
  })
  expect(JSON.parse(lines[1]!)).toMatchObject({ number: 2, base64: '//4=' })
  const size = bytesOf(data)
  const packed = await callServer('journal', 'pack', '--data', data)
  expect(packed.out).toMatch(/^packed \d files with [\d,]+ records: /)
  const small = bytesOf(data)
  expect(small).toBeLessThan(size)
  expect((await cat('--json')).out).toBe(before.out)
  // The newest file too, while nothing is recorded.
  await callServer('journal', 'pack', '--newest', '--data', data)
  expect(bytesOf(data) * 2).toBeLessThan(size)
  expect((await cat('--json')).out).toBe(before.out)
  const part = await cat('--from', '10', '--to', '11')
  expect(part.out.split('\n')[0]).toBe(
    '10 2026-08-11T01:16:15.914000Z message 1 {"seq":10,"price":"0.20","size":"370.50"}',
  )
  expect(part.out.trimEnd().split('\n')).toHaveLength(2)
  const unpacked = await callServer('journal', 'unpack', '--data', data, '--json')
  expect(JSON.parse(unpacked.out)).toMatchObject({ damaged: [] })
  expect((await cat('--json')).out).toBe(before.out)
})

test('says what to do where an argument is missing', async () => {
  const data = fillJournal()
  expect(await callServer('journal', '--data', data)).toMatchObject({ code: 2 })
  expect(await callServer('journal', 'cat', '--data', data)).toMatchObject({ code: 2 })
  const wrong = await callServer(
    'journal',
    'cat',
    '--venue',
    'venueb',
    '--from',
    'x',
    '--data',
    data,
  )
  expect(wrong.err).toContain('x is not the number of a record')
})
