import { printCount as count, ProgressBar } from '@priorbook/sdk/command-line'
import { mergeRecorders } from '../store/embedded/merge/merge.ts'
import { defineCommand, print } from './command.ts'

/** `priorbook-server merge DIR1 DIR2` */
export const mergeCommand = defineCommand({
  name: 'merge',
  args: '--data OUT DIR1 DIR2 [DIR3…]',
  about:
    'Derives one tape from several recorders of the same venues: the recorder with the lowest id wins, and the others fill its gaps.',
  options: {},
  examples: ['priorbook-server merge --data merged recorder-a recorder-b'],
  async run(context) {
    const { data, args, io } = context
    const bar = new ProgressBar(io, 'merge')
    try {
      const report = await mergeRecorders({
        target: data.path,
        folders: args,
        onProgress: (done, total, what) => bar.update(done, total, what),
      })
      bar.end()
      const { books, trades, samples } = report
      await print(context, { folder: data.path, ...report }, [
        ...report.recorders.map(({ folder, ids }) => `${ids.join(', ')}: ${folder}`),
        `${count(report.instruments)} instruments: ${count(books.observations)} observations, ${count(books.filled)} of them fill gaps; ${count(books.gaps)} gaps are left`,
        `${count(trades.rows)} trades (${count(trades.filled)} filled), ${count(samples.rows)} samples (${count(samples.filled)} filled), ${count(report.markets)} markets, ${count(report.quarantined)} quarantined, ${count(report.records)} journal records`,
        `${count(books.repeated + trades.repeated)} rows left out because another recorder had them already`,
        `merged into ${data.path}`,
      ])
    } finally {
      bar.end()
    }
  },
})
