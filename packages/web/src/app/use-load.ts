import { useEffect, useState } from 'preact/hooks'
import { toTrouble, type Trouble } from './trouble.ts'

/** What a panel waits for. */
export type Load<Data> = {
  readonly data: Data | undefined
  readonly trouble: Trouble | undefined
  readonly isLoading: boolean
}

const RETRY_MS = 3000

/** Loads when the marks change, again after passing trouble, and every so often where asked. */
export function useLoad<Data>(
  run: (signal: AbortSignal) => Promise<Data>,
  marks: readonly unknown[],
  everyMs?: number,
): Load<Data> {
  const [load, setLoad] = useState<Load<Data>>({
    data: undefined,
    trouble: undefined,
    isLoading: true,
  })
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const again = (ms: number): void => {
      timer = setTimeout(() => void turn(), ms)
    }
    const turn = async (): Promise<void> => {
      try {
        const data = await run(stop.signal)
        if (stop.signal.aborted) return
        setLoad({ data, trouble: undefined, isLoading: false })
        if (everyMs !== undefined) again(everyMs)
      } catch (error) {
        if (stop.signal.aborted) return
        const trouble = toTrouble(error)
        setLoad(({ data }) => ({ data, trouble, isLoading: false }))
        if (trouble.isPassing) again(RETRY_MS)
      }
    }
    setLoad(({ data }) => ({ data, trouble: undefined, isLoading: true }))
    void turn()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, marks)
  return load
}
