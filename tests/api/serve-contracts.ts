import { after, writeContract } from './contracts-tape.ts'
import { serveTape } from './serve-tape.ts'

// From two minutes after the round began; the clock goes on, because limits of requests are counted by it.
await serveTape(writeContract, () => after(120 + performance.now() / 1000))
