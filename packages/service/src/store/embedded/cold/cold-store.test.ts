import { describeStoreContract } from '../../store.contract.ts'
import { openMoving } from './cold-store.testing.ts'

describeStoreContract('embedded, with chunks in a folder of objects', async () => openMoving())
