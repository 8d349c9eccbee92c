/** `braidlake/kafka`: its types need the package @platformatic/kafka, so it is an entry of its own. */
export { type KafkaSourceOptions, kafkaSource } from './adapters/sources/kafka/kafka-source.ts'
