/** CPU time of this process over several pieces of work: what others do on the same cores counts little. */
export class CpuSum {
  #micros = 0
  #count = 0

  /** Does a piece of work and adds the time it took, threads of the engine included. */
  async measure<T>(work: () => Promise<T>): Promise<T> {
    const began = process.cpuUsage()
    const result = await work()
    const { user, system } = process.cpuUsage(began)
    this.#micros += user + system
    this.#count++
    return result
  }

  get meanMs(): number {
    return this.#micros / 1000 / this.#count
  }
}
