"""TensorFlow's side of the round trip: its own reader and writer of TFRecord files.

    tensorflow_examples.py read FILE IMAGES     prints "label length" of each record's image, and
                                                puts the images' bytes into IMAGES
    tensorflow_examples.py write FILE           writes the records that the test knows

Exits with 77 where there is no TensorFlow."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(77)


def read(path, images):
    features = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
                "image/class/label": tf.io.FixedLenFeature([], tf.int64)}
    with open(images, "wb") as out:
        for record in tf.data.TFRecordDataset(path):
            seen = tf.io.parse_single_example(record, features)
            jpeg = seen["image/encoded"].numpy()
            print(int(seen["image/class/label"]), len(jpeg))
            out.write(jpeg)


def write(path):
    def feature(**values):
        return tf.train.Feature(**values)
    compression = "GZIP" if path.endswith(".gz") else ""
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for i in range(3):
            example = tf.train.Example(features=tf.train.Features(feature={
                "numbers": feature(int64_list=tf.train.Int64List(value=[i, -2, 2**62])),
                "floats": feature(float_list=tf.train.FloatList(value=[0.5, -1.5, 3e38])),
                "bytes": feature(bytes_list=tf.train.BytesList(value=[b"", b"\0abc", b"x" * 300000])),
                "empty": feature(int64_list=tf.train.Int64List()),
            }))
            writer.write(example.SerializeToString())


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](*sys.argv[2:])
