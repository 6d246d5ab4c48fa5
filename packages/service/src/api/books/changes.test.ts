import { describe, expect, it } from 'vitest'
import { VENUES } from '@priorbook/sdk/domain'
import { CHANGES_CSV_COLUMNS } from '@priorbook/sdk/wire'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import { createBatches, joined, PATHS, walk } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'
import { SCRIPTED_VENUES } from '../../store/store-script.testing.ts'

type Ladder = { readonly price: readonly string[]; readonly size: readonly string[] }
type Row = {
  readonly id: string
  readonly token_id: string
  readonly flags: readonly string[]
  readonly bids: Ladder
  readonly asks: Ladder
  readonly changes: { readonly side: readonly ('bid' | 'ask')[] } & Ladder
}

async function createApi(seed: number): Promise<TestCaller> {
  const store = createTapeFolder().open()
  const { batches } = createBatches(seed, 200)
  await Promise.all(batches.map((batch) => store.append(batch)))
  await store.seal()
  return createTestCaller(BOOK_ROUTES, { store })
}

const rowsOf = async (api: TestCaller, url: string): Promise<Row[]> =>
  JSON.parse(`[${joined(await walk(api, url, [40, 7]))}]`) as Row[]

describe('changed levels', () => {
  it.each(SCRIPTED_VENUES)('make the books of %s', async (venue) => {
    const api = await createApi(61)
    const style = 'number_format=string&depth=10000&include_orderbook=true'
    const books = await rowsOf(api, `${PATHS[venue]}/snapshots?${style}`)
    const changes = await rowsOf(api, `${PATHS[venue]}/changes?number_format=string`)
    expect(changes.map(({ id }) => id)).toEqual(books.map(({ id }) => id))
    const sides = new Map<string, Map<string, string>>()
    for (const [index, { token_id: token, flags, changes: changed }] of changes.entries()) {
      for (const side of ['bid', 'ask'] as const) {
        const name = `${token}/${side}`
        const levels = sides.get(name) ?? new Map<string, string>()
        if (flags.includes('restart')) levels.clear()
        changed.side.forEach((one, at) => {
          if (one !== side) return
          if (changed.size[at] === '0') levels.delete(changed.price[at]!)
          else levels.set(changed.price[at]!, changed.size[at]!)
        })
        sides.set(name, levels)
        const sign = side === 'bid' ? -1 : 1
        const sorted = [...levels].sort(([a], [b]) => (Number(a) - Number(b)) * sign)
        const shown = side === 'bid' ? books[index]!.bids : books[index]!.asks
        expect(sorted).toEqual(shown.price.map((price, at) => [price, shown.size[at]]))
      }
    }
    expect(VENUES[venue].sizeDecimals).toBeGreaterThan(0)
  })

  it('come in reverse order, as numbers, lines and cells', async () => {
    const api = await createApi(62)
    const url = `${PATHS.venuec}/changes`
    const up = await rowsOf(api, url)
    const down = await rowsOf(api, `${url}?order=desc`)
    expect(down.toReversed()).toEqual(up)
    const lines = (await api.get(`${url}?format=ndjson&limit=1000`)).text.trim().split('\n')
    const typed = lines.map((line) => JSON.parse(line) as { type: string })
    expect(typed.filter(({ type }) => type === 'changes')).toEqual(
      up.map((row) => ({ type: 'changes', ...row })),
    )
    expect(typed.at(-1)!.type).toBe('receipt')
    const cells = (await api.get(`${url}?format=csv&limit=1000&number_format=string`)).text
    const [header, ...rows] = cells.trim().split('\n')
    expect(header).toBe(CHANGES_CSV_COLUMNS.join(','))
    expect(rows).toHaveLength(up.length)
    // Lists are JSON in quoted cells, with doubled quotes.
    const [side, price, size] = rows[0]!
      .match(/"(?:[^"]|"")*"/g)!
      .map((cell) => JSON.parse(cell.slice(1, -1).replaceAll('""', '"')) as unknown[])
    expect({ side, price: price!.map(Number), size: size!.map(Number) }).toEqual(up[0]!.changes)
  })
})

describe('a page as lines', () => {
  it.each(['asc', 'desc'])('has gaps where they lie (%s)', async (order) => {
    const api = await createApi(63)
    const url = `${PATHS.venuea}/snapshots?limit=1000&order=${order}`
    const { body } = await api.get(url)
    const { text } = await api.get(`${url}&format=ndjson`)
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const plain = (type: string): object[] =>
      lines
        .filter((line) => line['type'] === type)
        .map((line) => Object.fromEntries(Object.entries(line).slice(1)))
    expect(plain('book')).toEqual(body.data)
    expect(plain('gap')).toEqual(body.meta['gaps'])
    expect(plain('receipt')).toEqual([body.meta['receipt']])
    expect(plain('gap').length).toBeGreaterThan(1)
    for (const [index, line] of lines.entries()) {
      if (line['type'] !== 'gap') continue
      const after = Number(line['after_sequence'])
      const isRow = (one: Record<string, unknown>): boolean => one['type'] === 'book'
      const before = lines.slice(0, index).findLast(isRow)?.['sequence']
      const next = lines.slice(index).find(isRow)?.['sequence']
      const [low, high] = order === 'asc' ? [before, next] : [next, before]
      // A gap before all rows or after them has one neighbour.
      expect([low ?? after, high ?? after + 1]).toEqual([after, after + 1])
    }
  })
})
