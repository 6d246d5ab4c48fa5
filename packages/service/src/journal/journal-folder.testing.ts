import { createRandom } from '../lib/random.testing.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMicros } from '@priorbook/sdk/domain'
import { onTestFinished } from 'vitest'
import type { JournalDamage, JournalRange, JournalRecord } from '@priorbook/sdk/journal'
import {
  openJournalWriter,
  readJournal,
  type JournalWriter,
  type JournalWriterOptions,
} from './index.ts'

/** What the tests say of a record: its content without origin and recorder. */
export type Content = Pick<JournalRecord, 'number' | 'received' | 'kind' | 'slot' | 'bytes'>

/** A folder that is gone when the test ends. */
export function createFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'priorbook-journal-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** A writer of venue B that does not sync, unless told otherwise. */
export function openWriter(
  dir: string,
  options: Partial<JournalWriterOptions> = {},
): JournalWriter {
  return openJournalWriter({
    dir,
    venue: 'venueb',
    origin: 'live',
    recorder: 'r1',
    sync: false,
    ...options,
  })
}

/** Every record and every damage report of venue B. */
export function readAll(
  dir: string,
  range: Partial<JournalRange> = {},
): { readonly records: readonly Content[]; readonly damages: readonly JournalDamage[] } {
  const records: Content[] = []
  const damages: JournalDamage[] = []
  for (const item of readJournal({ dir, venue: 'venueb', ...range })) {
    if (item.kind === 'damage') {
      damages.push(item)
      continue
    }
    for (let i = 0; i < item.count; i++) {
      records.push({
        number: item.first + i,
        received: item.received[i]!,
        kind: item.kinds[i]!,
        slot: item.slots[i]!,
        bytes: item.bytes[i]!,
      })
    }
  }
  return { records, damages }
}

const known = new Map<number, Content>()

/** A record that its number alone determines: bytes of every value, some empty, notes among them. */
export function contentOf(number: number): Content {
  const content = known.get(number) ?? createContent(number)
  known.set(number, content)
  return content
}

function createContent(number: number): Content {
  const random = createRandom(number)
  const bytes = new Uint8Array(number % 7 === 0 ? 0 : Math.floor(random() * 60))
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256)
  const received = toMicros(1_786_410_975_904_000 + number * 250 - Math.floor(random() * 900))
  const kind = number % 5 === 0 ? 'note' : 'message'
  return { number, received, kind, slot: kind === 'note' ? 0 : number % 254, bytes }
}

/** Appends the next records of `contentOf`, committing after every `group`. */
export function fill(writer: JournalWriter, count: number, group: number): void {
  for (let i = 1; i <= count; i++) {
    const { received, kind, slot, bytes } = contentOf(writer.nextNumber)
    writer.append(received, kind, bytes, slot)
    if (i % group === 0) writer.commit()
  }
  writer.commit()
}

/** The records of `contentOf` from one number to another. */
export function contents(first: number, last: number): readonly Content[] {
  return Array.from({ length: last - first + 1 }, (_, i) => contentOf(first + i))
}
