"""The wire codec: bytes to commands and back, without a socket, a clock or an event loop.

    frame.py            FrameDecoder: chunks -> SendRun, SingleSend, Command, MessageFrame
    bounds.py           what the fields of a client's commands may hold
    plain_send.py       its hot half: SENDs into runs;  send.py  what a run is;  send_metadata.py  their publish time
    encode.py           ReceiptEncoder, MessageEncoder: the two commands that leave in masses
    commands.py         every other command of a broker;  client_commands.py  those of our entry reader
    message.py          an entry: broker metadata, checksum, metadata, payload
    batch.py            messages in a batch;  compression.py  the codecs of its payload
    errors.py           ProtocolError ends a connection, EntryError concerns one entry
    texts.py            text that is not UTF-8
    varint.py           protobuf's integers;  topics_hash.py  the hash of a topic list

`pulsar_api_pb2` is generated from proto/pulsar_api.proto by `make proto`.
"""
