import { describe, expect, it } from 'vitest'
import { Following } from './following.ts'
import type { LiveChanges, LiveSource } from './source.ts'

const CHANGES: LiveChanges = { books: [], trades: [], markets: [], gaps: [] }

/** A source whose followers answer in turn what they are told to. */
function createSource(answers: (LiveChanges | Error | undefined)[]): {
  readonly source: LiveSource
  readonly counts: { opened: number; closed: number }
} {
  const counts = { opened: 0, closed: 0 }
  const take = async (): Promise<LiveChanges | undefined> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const follow = async (): Promise<object> => {
    counts.opened++
    return { take, close: () => void counts.closed++ }
  }
  return { source: { follow } as unknown as LiveSource, counts }
}

const trouble = (times: number): Error[] =>
  Array.from({ length: times }, (_, at) => new Error(`trouble ${at + 1}`))

describe('a follower', () => {
  it('is kept through some trouble, and knows what it knew', async () => {
    const { source, counts } = createSource([...trouble(19), { ...CHANGES, missed: 'rebuilt' }])
    const following = new Following(source)
    for (let time = 1; time < 20; time++) {
      await expect(following.take()).rejects.toThrow(`trouble ${time}`)
    }
    expect(await following.take()).toEqual({ ...CHANGES, missed: 'rebuilt' })
    expect(counts).toEqual({ opened: 1, closed: 0 })
  })

  it('is replaced after much of it, and what it may have known is looked for', async () => {
    const { source, counts } = createSource([...trouble(20), undefined, CHANGES])
    const following = new Following(source)
    for (let time = 1; time <= 20; time++) await expect(following.take()).rejects.toThrow('trouble')
    expect(await following.take()).toEqual({ ...CHANGES, missed: 'rebuilt' })
    expect(await following.take()).toEqual(CHANGES)
    expect(counts).toEqual({ opened: 2, closed: 1 })
    following.close()
    expect(counts).toEqual({ opened: 2, closed: 2 })
  })
})
