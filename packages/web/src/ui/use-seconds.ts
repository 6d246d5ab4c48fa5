import { useEffect, useState } from 'preact/hooks'

/** The wall clock in microseconds, renewed every second. */
export function useSeconds(): number {
  const [now, setNow] = useState(Date.now() * 1000)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() * 1000), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}
