import { Worker } from 'node:worker_threads'

const MS = 500

// Adds up 256 KB again and again, as rendering reads and writes: counts the rounds in its time.
const WORK = `
const { parentPort, workerData } = require('node:worker_threads')
const words = new Int32Array(65536)
const round = () => { for (let at = 1; at < words.length; at++) words[at] = Math.imul(words[at - 1] ^ at, 31) }
for (let warm = 0; warm < 200; warm++) round()
let rounds = 0
const end = performance.now() + workerData
while (performance.now() < end) { round(); rounds++ }
parentPort.postMessage(rounds)
`

/**
 * How much two threads do at once, measured in what one does alone: 2 with two cores of their own,
 * little more than 1 where the two are halves of one core or others use them. The best of three.
 */
export async function measureSecondCore(): Promise<number> {
  let best = 0
  for (let turn = 0; turn < 3; turn++) {
    const [alone] = await work(1)
    const both = await work(2)
    best = Math.max(best, both.reduce((sum, rounds) => sum + rounds, 0) / alone!)
  }
  return best
}

function work(threads: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: threads }, () => {
      const worker = new Worker(WORK, { eval: true, workerData: MS })
      return new Promise<number>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      })
    }),
  )
}
