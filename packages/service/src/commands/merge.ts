import { createProgressBar } from '../lib/progress-bar.ts'
import { mergeRecorders } from '../store/embedded/merge/merge.ts'
import { count, parseArguments, print, type Command } from './command.ts'

/** `priorbook-server merge DIR1 DIR2` */
export const mergeCommand: Command = {
  name: 'merge',
  usage: 'merge --data OUT DIR1 DIR2 [DIR3…]',
  about:
    'Derives one tape from several recorders of the same venues: the lowest recorder id counts, and inside its gaps the others.',
  examples: ['priorbook-server merge --data merged recorder-a recorder-b'],
  async run(args) {
    const { data, json, rest } = parseArguments(args)
    const bar = createProgressBar('merge')
    try {
      const report = await mergeRecorders({
        target: data.path,
        folders: rest,
        onProgress: (done, total, what) => bar.update(done, total, what),
      })
      bar.end()
      const { books, trades, samples } = report
      print(json, { folder: data.path, ...report }, [
        ...report.recorders.map(({ folder, ids }) => `${ids.join(', ')}: ${folder}`),
        `${count(report.instruments)} instruments: ${count(books.observations)} observations, ${count(books.filled)} of them fill gaps; ${count(books.gaps)} gaps are left`,
        `${count(trades.rows)} trades (${count(trades.filled)} filled), ${count(samples.rows)} samples (${count(samples.filled)} filled), ${count(report.markets)} markets, ${count(report.quarantined)} quarantined, ${count(report.records)} journal records`,
        `${count(books.repeated + trades.repeated)} rows left out because another recorder had them already`,
        `merged into ${data.path}`,
      ])
      return 0
    } finally {
      bar.end()
    }
  },
}
