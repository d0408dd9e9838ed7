def executing_eagerly():
    return True
