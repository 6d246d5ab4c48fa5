import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A change of a book in tardis-dev's own shape. */
export type TardisBookChange = {
  readonly type: 'book_change'
  readonly symbol: string
  readonly exchange: string
  readonly isSnapshot: boolean
  readonly bids: readonly { readonly price: number; readonly amount: number }[]
  readonly asks: readonly { readonly price: number; readonly amount: number }[]
  readonly timestamp: Date
  readonly localTimestamp: Date
}

/** What this benchmark uses of tardis-dev's OrderBook. */
export interface TardisOrderBook {
  update(change: TardisBookChange): void
  bestBid(): { readonly price: number } | undefined
  bestAsk(): { readonly price: number } | undefined
}

/** Gives tardis-dev's OrderBook, installed beside this file the first time; undefined where npm cannot. */
export function loadTardisOrderBook(): (new () => TardisOrderBook) | undefined {
  const folder = dirname(fileURLToPath(import.meta.url))
  if (!existsSync(join(folder, 'node_modules', 'tardis-dev')) && !install(folder)) return undefined
  const load = createRequire(join(folder, 'package.json'))
  return (load('tardis-dev') as { OrderBook: new () => TardisOrderBook }).OrderBook
}

function install(folder: string): boolean {
  const npm = process.env['npm_execpath']
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
  const options = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save']
  const child = spawnSync(command, [...first, ...options, '--no-package-lock'], {
    cwd: folder,
    stdio: ['ignore', process.stderr, process.stderr],
  })
  return child.status === 0
}
