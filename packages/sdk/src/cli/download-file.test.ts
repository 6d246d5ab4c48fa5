import { createHash } from 'node:crypto'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PriorbookClient } from '../client/index.ts'
import { downloadFile, type DownloadEvents, type DownloadOrder } from './download-file.ts'
import { explainError } from './errors.ts'

const ROWS = 'row one\nrow two\n'

/** A client of a service with one file of 16 bytes; `look` is called in the middle of a download. */
function clientOf(look: () => Promise<void> | void, name = 'x.ndjson', isFinal = true) {
  const sha256 = createHash('sha256').update(ROWS).digest('hex')
  const file = { format: 'ndjson', file_name: name, bytes: ROWS.length, sha256 }
  const manifest = {
    rows: 2,
    range: { start_time: 'from', end_time: 'to' },
    files: [file],
    receipt: { is_final: isFinal },
  }
  let downloads = 0
  async function* body(offset: number): AsyncGenerator<Uint8Array> {
    downloads++
    const half = Math.max(offset, ROWS.length / 2)
    yield Buffer.from(ROWS.slice(offset, half))
    await look()
    yield Buffer.from(ROWS.slice(half))
  }
  const client = {
    url: 'http://127.0.0.1:8780',
    isDemo: false,
    manifest: async () => ({ data: manifest, meta: { gaps: [] }, notices: [] }),
    download: async ({ offset }: { readonly offset: number }) => ({ body: body(offset) }),
  }
  return { client: client as unknown as PriorbookClient, downloads: () => downloads }
}

const EVENTS: DownloadEvents = {
  onManifest: () => undefined,
  onProgress: () => undefined,
  onBreak: () => undefined,
  onNotices: () => undefined,
}

function createOrder(more: Partial<DownloadOrder> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-download-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const order: DownloadOrder = {
    params: { venue: 'venueb', market_id: 'M' },
    format: 'ndjson',
    path: (name) => join(folder, name),
    existing: 'refuse',
    retries: 0,
    signal: new AbortController().signal,
    ...more,
  }
  return { folder, order }
}

describe('two downloads of one file at a time', () => {
  it('do not write to one part: the second is refused, with what to do', async () => {
    const { folder, order } = createOrder()
    let second: unknown
    const { client } = clientOf(async () => {
      const other = clientOf(() => undefined).client
      second = await downloadFile(other, order, EVENTS).catch((error: unknown) => error)
    })
    const { path } = await downloadFile(client, order, EVENTS)
    expect(readFileSync(path, 'utf8')).toBe(ROWS)
    expect(explainError(second, '')).toMatchObject({
      status: 1,
      message: `process ${process.pid} is writing ${path}.part`,
      hint: expect.stringMatching(/^Wait until it has ended and run the command again\./),
    })
    expect(readdirSync(folder)).toEqual(['x.ndjson', 'x.ndjson.manifest.json'])
  })

  it('where that is wanted, the second waits and gets what the first one made', async () => {
    const { order } = createOrder({ existing: 'refresh' })
    const told: string[] = []
    const other = clientOf(() => undefined)
    let second: ReturnType<typeof downloadFile> | undefined
    const { client } = clientOf(
      () =>
        new Promise<void>((resolve) => {
          const onWait = (why: string): void => {
            told.push(why)
            resolve()
          }
          second = downloadFile(other.client, { ...order, onWait }, EVENTS)
        }),
    )
    const { path, wasThere } = await downloadFile(client, order, EVENTS)
    const after = await second!
    expect([wasThere, after.wasThere, after.path]).toEqual([false, true, path])
    expect(readFileSync(path, 'utf8')).toBe(ROWS)
    expect([told, other.downloads()]).toEqual([
      [`process ${process.pid} is writing ${path}.part`],
      0,
    ])
  })

  it('leave no lock where the first one fails', async () => {
    const { folder, order } = createOrder()
    const { client } = clientOf(() => {
      throw new Error('no more')
    })
    await expect(downloadFile(client, order, EVENTS)).rejects.toThrow('no more')
    expect(readdirSync(folder)).toEqual(['x.ndjson.part', 'x.ndjson.part.manifest.json'])
    await downloadFile(clientOf(() => undefined).client, order, EVENTS)
    expect(readFileSync(join(folder, 'x.ndjson'), 'utf8')).toBe(ROWS)
  })
})

describe('a part', () => {
  it('that has other bytes than were received does not become the file', async () => {
    const { folder, order } = createOrder()
    // As a program that knows no lock does.
    const { client } = clientOf(() => appendFileSync(join(folder, 'x.ndjson.part'), 'row two\n'))
    await expect(downloadFile(client, order, EVENTS)).rejects.toMatchObject({
      code: 'incomplete_file',
      message: expect.stringContaining('has 24 bytes instead of 16'),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('is left alone by a download whose lock was taken over', async () => {
    const { folder, order } = createOrder()
    const lock = join(folder, 'x.ndjson.part.lock')
    const { client } = clientOf(() =>
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(/"owner":"/, '$&another')),
    )
    await expect(downloadFile(client, order, EVENTS)).rejects.toMatchObject({ exit: 'failed' })
    expect(readdirSync(folder)).toEqual([
      'x.ndjson.part',
      'x.ndjson.part.lock',
      'x.ndjson.part.manifest.json',
    ])
  })
})

describe('a file that is there already', () => {
  it('is kept where it is final, and where it is not, refused or replaced as wanted', async () => {
    const { folder, order } = createOrder()
    const path = join(folder, 'x.ndjson')
    const open = clientOf(() => undefined, 'x.ndjson', false)
    await downloadFile(open.client, order, EVENTS)
    const again = downloadFile(open.client, order, EVENTS)
    await expect(again).rejects.toThrow('is there already, and its range was not final')
    await downloadFile(open.client, { ...order, existing: 'refresh' }, EVENTS)
    expect(open.downloads()).toBe(2)
    const final = clientOf(() => undefined)
    await downloadFile(final.client, { ...order, existing: 'replace' }, EVENTS)
    for (const existing of ['refuse', 'refresh'] as const) {
      const { wasThere } = await downloadFile(final.client, { ...order, existing }, EVENTS)
      expect([wasThere, final.downloads()]).toEqual([true, 1])
    }
    // A damaged manifest says nothing about the file, which is then not kept.
    writeFileSync(`${path}.manifest.json`, '{')
    await expect(downloadFile(final.client, order, EVENTS)).rejects.toThrow('is not a manifest')
    await downloadFile(final.client, { ...order, existing: 'replace' }, EVENTS)
    expect([final.downloads(), statSync(path).size]).toEqual([2, ROWS.length])
  })
})

describe('the name that a server gives a file', () => {
  it.each([
    '',
    '.',
    '..',
    '../../x.ndjson',
    '/etc/x.ndjson',
    'a/b',
    String.raw`..\x.ndjson`,
    'C:x.ndjson',
    'x.ndjson:stream',
    'x\n.ndjson',
    'x\u0000',
    'x\u009B2J',
    null,
  ])('is refused where it is %j', async (name) => {
    const { folder, order } = createOrder()
    const { client } = clientOf(() => undefined, name as string)
    let error: unknown
    await downloadFile(client, order, EVENTS).catch((thrown: unknown) => (error = thrown))
    expect(error).toMatchObject({ code: 'bad_answer' })
    expect(explainError(error, 'http://there')).toMatchObject({
      status: 5,
      message: expect.stringContaining('not the name of a file'),
      hint: expect.stringContaining('http://there may be another service'),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it.each(['x.ndjson', '..x', 'venueb_KX-1_books_2026-08-11.ndjson', 'Überblick 1.csv'])(
    'may be %s',
    async (name) => {
      const { folder, order } = createOrder()
      await downloadFile(clientOf(() => undefined, name).client, order, EVENTS)
      expect(readdirSync(folder)).toContain(name)
    },
  )
})
