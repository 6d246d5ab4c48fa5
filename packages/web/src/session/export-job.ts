import { signal } from '@preact/signals'
import { createPanel } from '../app/panel.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import {
  nextPageOf,
  toDownloadParams,
  type ExportScope,
  type FILE_FORMATS,
} from '../model/export.ts'
import type { Range } from '../model/range.ts'

type Format = (typeof FILE_FORMATS)[number]
type Params = Parameters<ReturnType<typeof createPanel>['client']['download']>[0]

/** What a file will have, about. */
export type Estimate = { readonly rows: number; readonly bytes: number }

/** One file that is being made: its size before, how far it has come, and its end. */
export class ExportJob {
  readonly estimate = signal<Estimate | undefined>(undefined)
  /** Bytes that have arrived; absent while nothing is downloaded. */
  readonly received = signal<number | undefined>(undefined)
  readonly trouble = signal<Trouble | undefined>(undefined)
  // The style of a file is part of its parameters.
  readonly panel = createPanel({})
  private stopping = new AbortController()

  /** Asks how large a file will be. */
  async look(scope: ExportScope, format: Format, range: Range): Promise<void> {
    this.estimate.value = undefined
    await this.attempt(async (signal) => {
      const params = toDownloadParams(scope, format, range) as Params
      const query = { ...params, formats: [format], estimate: true }
      const { data } = await this.panel.client.manifest(query, { signal })
      if (signal.aborted || data === null) return
      this.estimate.value = { rows: data.rows, bytes: data.files[0]?.bytes ?? 0 }
    })
  }

  /** Downloads it; undefined where it failed or was cancelled. */
  async download(scope: ExportScope, format: Format, range: Range): Promise<File | undefined> {
    return this.attempt(async (signal) => {
      const params = { ...toDownloadParams(scope, format, range), format } as Params
      const { client, note } = this.panel
      this.received.value = 0
      note('download', params)
      const { fileName, contentType, body } = await client.download(params, { signal })
      const pieces: BlobPart[] = []
      for await (const piece of body) {
        pieces.push(piece as Uint8Array<ArrayBuffer>)
        this.received.value += piece.length
      }
      return new File(pieces, fileName, { type: contentType })
    })
  }

  /** Reads the answer of a request as it is. */
  async fetchAnswer(url: string, name: string): Promise<File | undefined> {
    return this.attempt(async (signal) => {
      this.received.value = 0
      const { blob } = await this.read(url, signal)
      return new File([blob], name, { type: blob.type })
    })
  }

  /** Reads every page of several requests, which are lines of text, into one file. */
  async fetchPages(urls: readonly string[], name: string): Promise<File | undefined> {
    return this.attempt(async (signal) => {
      this.received.value = 0
      const parts: Blob[] = []
      const told = new Set<string>()
      for (const first of urls) {
        for (let url: string | undefined = first; url !== undefined;) {
          const { blob, link } = await this.read(url, signal)
          const isFirst = parts.length === 0
          parts.push(await (name.endsWith('.csv') ? csvRowsOf(blob, isFirst) : rowsOf(blob, told)))
          this.received.value += blob.size
          url = nextPageOf(url, link)
        }
      }
      return new File(parts, name, { type: parts[0]?.type ?? '' })
    })
  }

  private async read(
    url: string,
    signal: AbortSignal,
  ): Promise<{ readonly blob: Blob; readonly link: string | null }> {
    const { body, headers } = await this.panel.client.fetchRaw(url, { signal })
    return { blob: body, link: headers.get('link') }
  }

  /** Ends what is running. */
  cancel(): void {
    this.stopping.abort()
    this.received.value = undefined
  }

  private async attempt<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    this.cancel()
    const { signal: stopped } = (this.stopping = new AbortController())
    this.trouble.value = undefined
    try {
      return await work(stopped)
    } catch (error) {
      if (!stopped.aborted) this.trouble.value = toTrouble(error)
      return undefined
    } finally {
      if (!stopped.aborted) this.received.value = undefined
    }
  }
}

/** The rows of a page of CSV: only the first page of a file gives the names of the columns. */
async function csvRowsOf(page: Blob, isFirst: boolean): Promise<Blob> {
  return toBlob((await linesOf(page)).slice(isFirst ? 0 : 1), page.type)
}

/** The lines of a page of NDJSON that go into the file: no receipt of a page, and each notice only once. */
async function rowsOf(page: Blob, told: Set<string>): Promise<Blob> {
  const rows = (await linesOf(page)).filter((line) => {
    if (line.startsWith('{"type":"receipt"')) return false
    const isNews = !told.has(line)
    if (line.startsWith('{"type":"notice"')) told.add(line)
    return isNews
  })
  return toBlob(rows, page.type)
}

async function linesOf(page: Blob): Promise<string[]> {
  return (await page.text()).split('\n').slice(0, -1)
}

function toBlob(lines: readonly string[], type: string): Blob {
  return new Blob(
    lines.map((line) => `${line}\n`),
    { type },
  )
}
